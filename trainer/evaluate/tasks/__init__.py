"""Evaluation tasks, one module for each family."""
