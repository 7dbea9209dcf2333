"""From pairs to sentence embeddings, and from embeddings to scores. Imports schemas, never pipelines."""
