"""Ends with the exit code it is given, after a last line."""

import sys

print("the last line", file=sys.stderr, flush=True)
sys.exit(int(sys.argv[1]))
