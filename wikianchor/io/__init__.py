"""What the command lines of both sides share: flags, errors, and what a terminal is shown. Imports nothing of ours."""
