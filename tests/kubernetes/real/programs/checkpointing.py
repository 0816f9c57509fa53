"""Counts steps; told to stop, it saves where it is; as a later run it goes on from there. Ends well after as many steps as its argument says."""

import os
import pathlib
import signal
import sys
import time

STEP_S = 0.2
SAVING_S = 1.5
"""As long as a small checkpoint takes to be written: in a cluster that counts in seconds the end is after the warning."""


class Stop(BaseException):
    """The warning before the end of the grace."""


def stop(_signal: int, _frame: object) -> None:
    raise Stop


signal.signal(signal.SIGTERM, stop)
own = pathlib.Path(os.environ["BERTH_CHECKPOINT_DIR"])
step = 0
if os.environ.get("BERTH_RESUME") == "1":
    step = int((pathlib.Path(os.environ["BERTH_RESUME_FROM"]) / "step").read_text())
    print(f"resumed at {step} from {os.environ['BERTH_RESUME_FROM']}", flush=True)
print("counting", flush=True)
try:
    while step < int(sys.argv[1]):
        time.sleep(STEP_S)
        step += 1
except Stop:
    own.mkdir(parents=True)
    (own / "step").write_text(str(step))
    time.sleep(SAVING_S)
    print(f"saved {step} in {own}", flush=True)
    # As a trainer that was interrupted, not as one that is done.
    raise SystemExit(143) from None
print(f"done after {step}", flush=True)
