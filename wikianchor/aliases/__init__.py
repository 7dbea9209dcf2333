"""How text is cut and folded into names, and the table that finds them: used by `mentions` and by M-BoE alike."""
