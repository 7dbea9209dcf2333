"""Encoders, losses, the entity table, and their export."""
