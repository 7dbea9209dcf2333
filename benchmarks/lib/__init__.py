"""What the benchmarks share: how things are measured, and the data that they are measured on."""

import sys
from pathlib import Path

# Some parts are shared with tests, and Python puts only the folder of the command on its path.
sys.path.append(str(Path(__file__).parents[2]))
