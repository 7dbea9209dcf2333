"""Score the linking of mentions to items: loaders of public sets, candidates by name, and baselines."""
