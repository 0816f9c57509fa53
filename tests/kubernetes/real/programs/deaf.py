"""Does not listen to SIGTERM, and would run for an hour."""

import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(3600)
