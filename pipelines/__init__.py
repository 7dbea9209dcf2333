"""Apache Beam pipelines from Wikimedia dumps to entity-anchored training data."""
