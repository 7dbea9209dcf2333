"""Text in pure Python: sentence splitting with offsets. No Beam."""
