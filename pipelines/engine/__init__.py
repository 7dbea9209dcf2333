"""What runs graphs: steps that are not repeated, the shuffle, local workers, signals."""
