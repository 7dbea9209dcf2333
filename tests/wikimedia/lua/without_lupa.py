"""Ends as the process that runs Lua does where lupa is missing."""

import sys

sys.exit(3)
