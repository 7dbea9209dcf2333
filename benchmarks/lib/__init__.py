"""What the benchmarks share: how things are measured, and the data that they are measured on."""
