"""Files, stores, errors, units and output to the terminal, for the pipelines and the trainer."""
