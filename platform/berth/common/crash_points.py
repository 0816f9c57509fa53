"""Named places at which a process can be made to die as by kill -9, for tests of what its successor makes of it.

Nothing happens unless the environment names one: `BERTH_CRASH_AT=pod-made` or, for the third time it is passed, `pod-made:3`.
"""

import os
import signal
from collections import Counter
from typing import Final

POINTS: Final = (
    "sending", "owner-made", "pod-made", "sent", "recording", "recorded",
    "stopping", "warned", "stop-asked", "force-noted", "owner-deleting",
)  # fmt: skip
"""Of dispatch in its order, then of taking down."""
_passed: Counter[str] = Counter()
_armed = os.environ.get("BERTH_CRASH_AT", "")


def arm(point: str) -> None:
    """Let this process die at the point, as the environment would."""
    global _armed  # noqa: PLW0603 - one a process, like the environment that it stands for
    _armed = point


def pass_point(name: str) -> None:
    """Die here if that was asked for."""
    wanted, _, time = _armed.partition(":")
    if name != wanted:
        return
    _passed[name] += 1
    if _passed[name] == int(time or 1):
        os.kill(os.getpid(), signal.SIGKILL)
