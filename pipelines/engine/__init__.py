"""How graphs run: worker processes and what else stands between a pipeline and its engine."""
