"""Beam transforms shared by the pipelines; each is a thin wrapper around a pure function."""
