"""A pod's output for its people: from the cluster while it is there, from the store when it is not, and a word where it is neither.

Which pod is asked for is decided by rows alone; nothing of a request reaches a cluster but through them (W43).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from threading import BoundedSemaphore
from typing import Any, Final

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from scheduling.cluster.port import ClusterUnreachableError, LogTail, PodKey
from scheduling.control.clusters import port_of
from scheduling.models import Pod, PodLog, Run
from scheduling.selectors.job_logs import LogChoice
from scheduling.services import log_store
from scheduling.states import RunState

READ_TIMEOUT_S: Final = 3.0
READ_AFTER_END: Final = timedelta(minutes=10)
"""So long after its end a pod may still be there to be read, if nobody kept its output yet."""
_READERS: Final = BoundedSemaphore(4)
"""A kubelet that does not answer must not hold every thread of the web server."""


class LogState(StrEnum):
    """Where an output came from."""

    LIVE = "live"
    KEPT = "kept"
    NONE = "none"


WHY_NONE: Final[dict[str, Any]] = {
    "not-started": _("The job has not started yet: nothing was written."),
    "starting": _("The pod is starting; nothing was written yet."),
    "nothing": _("The cluster has no log of this pod."),
    "unreachable": _("The cluster does not answer, and no copy was kept. Try again in a moment."),
    "lost": _("The pod's node was lost before its log could be read."),
    "gone": _("The pod was gone before its log could be read."),
    "store": _("The log could not be kept: the store took nothing more."),
    "dropped": _("The log was dropped: the tenant's room for kept logs is used by later ones."),
    "not-collected": _("No log was collected for this pod."),
    "busy": _("Many logs are being read just now. Try again in a moment."),
}


@dataclass(frozen=True, slots=True)
class JobLog:
    """`why` is a code of WHY_NONE where `state` is none, `message` the cluster's own words then. `cut`: older lines are left out, by
    the tail asked for or by the cap; `whole`: nothing can follow. `as_of` is when it was read."""

    choice: LogChoice
    state: LogState
    text: str = ""
    cut: bool = False
    whole: bool = False
    as_of: datetime | None = None
    why: str = ""
    message: str = ""

    @property
    def sentence(self) -> str:
        """Why there is none; empty where there is one."""
        return str(WHY_NONE[self.why]) if self.why else ""


def read_job_log(choice: LogChoice, *, tail: int) -> JobLog:
    """The last `tail` lines of the chosen pod's output. Never raises for what a cluster or the store cannot give."""
    run, pod, kept = choice.run, choice.pod, choice.kept
    if run is None or pod is None:
        return JobLog(choice, LogState.NONE, why="not-started")
    if kept is not None and kept.whole:
        return _kept(choice, kept, tail)
    live = _live(run, pod, tail) if _may_be_there(run, pod, kept) else None
    if isinstance(live, LogTail) and live.available:
        return JobLog(choice, LogState.LIVE, live.text, live.truncated, as_of=clock.now())
    if kept is None:
        # It may have been kept, and the pod removed, since the choice was made.
        kept = PodLog.objects.filter(pod=pod).first()
    if kept is not None:
        return _kept(choice, kept, tail)
    why, message = ("not-collected", "") if live is None else _why(pod, live)
    return JobLog(choice, LogState.NONE, why=why, message=message)


def _kept(choice: LogChoice, kept: PodLog, tail: int) -> JobLog:
    text = log_store.get(kept.path) if kept.path else None
    if text is not None:
        lines = text.removesuffix("\n").split("\n")
        shown = text if len(lines) <= tail else "\n".join(lines[-tail:]) + "\n"
        cut = kept.cut or len(lines) > tail
        return JobLog(choice, LogState.KEPT, shown, cut, kept.whole, as_of=kept.kept_at)
    why = kept.missing or "not-collected"
    lost = choice.pod is not None and why == PodLog.Missing.UNREACHABLE and choice.run and choice.run.fenced
    return JobLog(choice, LogState.NONE, why="lost" if lost else why, message=kept.message, as_of=kept.kept_at)


def _may_be_there(run: Run, pod: Pod, kept: PodLog | None) -> bool:
    """Whether it is worth asking the cluster."""
    if run.state != RunState.ENDED or run.ended_at is None:
        return True
    return bool(pod.uid) and kept is None and clock.now() - run.ended_at < READ_AFTER_END


def _live(run: Run, pod: Pod, tail: int) -> LogTail | str:
    """What the cluster says, or the code of why it says nothing."""
    if not pod.uid:
        return "starting"
    if not _READERS.acquire(blocking=False):
        return "busy"
    try:
        key, most = PodKey(run.namespace, pod.name), settings.BERTH_LOG_BYTES
        return port_of(run.cluster).read_logs(key, tail_lines=tail, most_bytes=most, timeout_s=READ_TIMEOUT_S)
    except ClusterUnreachableError:
        return "unreachable"
    finally:
        _READERS.release()


def _why(pod: Pod, live: LogTail | str) -> tuple[str, str]:
    if isinstance(live, str):
        return live, ""
    if pod.phase in (Pod.Phase.PLANNED, Pod.Phase.PENDING):
        return "starting", live.message
    return "nothing", live.message
