"""The training loop, optimisers, checkpoints and the log."""
