"""The dataset `mewsc16`: topic sentences of Wikinews, a benchmark for clustering."""
