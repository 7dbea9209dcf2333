"""`wikianchor onnx`: a model for ONNX Runtime."""
