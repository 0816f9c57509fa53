"""Runs until it is told to stop."""

import signal
import time

signal.signal(signal.SIGTERM, lambda *_: exit(0))
print("waiting", flush=True)
time.sleep(3600)
