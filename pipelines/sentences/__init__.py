"""The datasets `sentences` and `titles`, from a Wikipedia dump."""
