"""`python -m testplane`: build and start a control plane, stay until Ctrl-C (`make kube`)."""

import signal
import sys
import time
from types import FrameType

from testplane.build import BuildError
from testplane.plane import Plane, PlaneError


def main() -> int:
    asked = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    began = time.monotonic()
    try:
        with Plane() as plane:
            print(f"testplane | ready after {time.monotonic() - began:.1f} s; Ctrl-C stops it")
            print(f"export KUBECONFIG={plane.kubeconfig()}", flush=True)
            while not asked:
                time.sleep(0.2)
    except (BuildError, PlaneError) as error:
        print(f"testplane: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
