"""Reads what pods wrote before their objects are removed: at the end of a run, and while one that was asked to stop still writes.

A log is worth two seconds of a turn and no more: nobody's start waits for it, and a run is removed in the end without it.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final

from django.conf import settings
from django.db import connections
from django.db.models import Q

from berth.common import clock
from scheduling.cluster.port import ClusterPort, ClusterUnreachableError, PodKey, PodObservation, PodPhase
from scheduling.control.clusters import port_of
from scheduling.models import Node, Pod, PodLog, Run
from scheduling.services.pod_logs import ReadLog, keep_logs
from tenants.models import Cluster

logger = logging.getLogger(__name__)
MOST_LINES: Final = 50_000
READ_TIMEOUT_S: Final = 2.0
BUDGET_S: Final = 2.0
TOLD_BUDGET_S: Final = 0.5
"""Where no program ran there is less to lose."""
GIVE_UP_S: Final = 15.0
"""How long a run's removal waits for logs that did not fit a turn."""
OPENED_S: Final = 1.0
LEAST_OPENED_S: Final = 0.05
MOST_FOLLOWED: Final = 64
"""Streams of one process at a time; pods beyond that are read once."""
ENDED_PHASES: Final = (Pod.Phase.SUCCEEDED, Pod.Phase.FAILED, Pod.Phase.GONE)
AFTER_GRACE: Final = timedelta(seconds=45)
"""A pod that ignores its grace is removed by force half a minute after it."""


@dataclass(slots=True)
class LogKeeper:
    """One process's memory: runs whose logs did not fit a turn, since when, and the pods that it listens to."""

    _waiting: dict[int, float] = field(default_factory=dict)
    _followed: set[int] = field(default_factory=set)
    _patient_until: float = 0.0

    def keep(self, ended: Iterable[int]) -> list[int]:
        """Keep what these ended runs wrote, and those before them that had to wait; returns runs that may be removed now."""
        now = clock.monotonic()
        self._patient_until = now + BUDGET_S
        for run_id in ended:
            self._waiting.setdefault(run_id, now)
        if not self._waiting:
            return []
        runs = Run.objects.filter(pk__in=self._waiting).select_related("job", "cluster").order_by("pk")
        unread = keep_run_logs(list(runs), passing_over=self._followed)
        late = {run_id for run_id, since in self._waiting.items() if now - since > GIVE_UP_S}
        done = sorted(self._waiting.keys() - (unread - late))
        for run_id in done:
            del self._waiting[run_id]
        return done

    def listen(self, run: Run, port: ClusterPort, there: Sequence[PodObservation]) -> None:
        """Before pods are asked to stop: follow those that still write to their end, and read those that have ended."""
        if not port.capabilities().real_logs:
            return
        pods = {pod.name: pod for pod in _unkept([run]) if pod.pk not in self._followed}
        ended = [pods[pod.key.name] for pod in there if pod.phase.ended and pod.key.name in pods]
        writing = [pods[pod.key.name] for pod in there if pod.phase is PodPhase.RUNNING and pod.key.name in pods]
        room = max(0, MOST_FOLLOWED - len(self._followed))
        opened = [self._follow(run, pod, port) for pod in writing[:room]]
        now = clock.monotonic()
        deadline = now + OPENED_S
        keep_logs(_read_all(ended, port, deadline=deadline, whole=True))
        keep_logs(_read_all(writing[room:], port, deadline=deadline, whole=False))
        # All runs of a turn share this patience: a kubelet that does not answer must not keep the others' notices back.
        deadline = min(deadline, max(self._patient_until, now + LEAST_OPENED_S))
        for event in opened:
            event.wait(max(0.0, deadline - clock.monotonic()))

    def _follow(self, run: Run, pod: Pod, port: ClusterPort) -> threading.Event:
        opened = threading.Event()
        left = (run.grace_until or clock.now()) - clock.now()
        seconds = max(timedelta(0), left).total_seconds() + AFTER_GRACE.total_seconds()
        self._followed.add(pod.pk)
        work = partial(self._follow_to_the_end, pod, PodKey(run.namespace, pod.name), port, seconds, opened)
        threading.Thread(target=work, name=f"log-{pod.name}", daemon=True).start()
        return opened

    def _follow_to_the_end(
        self, pod: Pod, key: PodKey, port: ClusterPort, seconds: float, opened: threading.Event
    ) -> None:
        """In a thread of its own, with a connection to the database that ends with it."""
        try:
            tail = port.follow_logs(key, **_bounds(), timeout_s=seconds, opened=opened.set)
            if tail.available:
                keep_logs([ReadLog(pod, tail, whole=not tail.broken_off)])
        except ClusterUnreachableError as error:
            logger.warning("log not followed pod=%s error=%s", pod.name, error.message)
        except Exception:
            # Whatever befalls one log is that log's only: the next read of the pod says what is missing.
            logger.exception("log not followed pod=%s", pod.name)
        finally:
            opened.set()
            self._followed.discard(pod.pk)
            connections.close_all()


def keep_run_logs(runs: Sequence[Run], *, passing_over: Iterable[int] = ()) -> set[int]:
    """Keep what the pods of ended runs (with their clusters) wrote, but for pods of these ids; returns runs for which time ran out."""
    others = set(passing_over)
    pods = [pod for pod in _unkept(runs) if pod.pk not in others]
    lost = [pod for pod in pods if pod.node.state == Node.State.LOST]
    read = [ReadLog(pod, None, whole=False, missing=PodLog.Missing.UNREACHABLE) for pod in lost]
    by_cluster: dict[Cluster, list[Pod]] = {}
    clusters = {run.pk: run.cluster for run in runs}
    for pod in pods:
        if pod.node.state != Node.State.LOST:
            by_cluster.setdefault(clusters[pod.run_id], []).append(pod)
    for cluster, mine in by_cluster.items():
        port = port_of(cluster)
        budget = BUDGET_S if port.capabilities().real_logs else TOLD_BUDGET_S
        read += _read_all(mine, port, deadline=clock.monotonic() + budget, whole=None)
    keep_logs(read)
    told = {one.pod.pk for one in read}
    return {pod.run_id for pod in pods if pod.pk not in told}


def _unkept(runs: Sequence[Run]) -> list[Pod]:
    """Pods that were made and of whose output there is no last word yet."""
    rows = Pod.objects.filter(run__in=runs).exclude(uid="").filter(Q(log__isnull=True) | Q(log__whole=False))
    return list(rows.select_related("run__job", "node").order_by("run_id", "rank", "pk"))


def _bounds() -> dict[str, int]:
    return {"tail_lines": MOST_LINES, "most_bytes": settings.BERTH_LOG_BYTES}


def _read_all(pods: Sequence[Pod], port: ClusterPort, *, deadline: float, whole: bool | None) -> list[ReadLog]:
    """As many as the time suffices for. `whole` None: as the pods' phases say."""
    ask = partial(_read, port, whole=whole)
    at_once = port.capabilities().at_once
    return _side_by_side(ask, pods, deadline, at_once) if at_once > 1 else _in_turn(ask, pods, deadline)


def _read(port: ClusterPort, pod: Pod, *, whole: bool | None) -> ReadLog:
    try:
        tail = port.read_logs(PodKey(pod.run.namespace, pod.name), **_bounds(), timeout_s=READ_TIMEOUT_S)
    except ClusterUnreachableError as error:
        return ReadLog(pod, None, whole=False, missing=PodLog.Missing.UNREACHABLE, message=error.message)
    gone = not tail.available and pod.phase == Pod.Phase.GONE
    ended = pod.phase in ENDED_PHASES if whole is None else whole
    return ReadLog(pod, tail, whole=ended, missing=PodLog.Missing.GONE if gone else "")


def _in_turn(ask: Callable[[Pod], ReadLog], pods: Sequence[Pod], deadline: float) -> list[ReadLog]:
    read = []
    for pod in pods:
        if clock.monotonic() >= deadline:
            break
        read.append(ask(pod))
    return read


def _side_by_side(ask: Callable[[Pod], ReadLog], pods: Sequence[Pod], deadline: float, at_once: int) -> list[ReadLog]:
    if not pods:
        return []
    pool = ThreadPoolExecutor(min(at_once, len(pods)), thread_name_prefix="logs")
    futures: list[Future[ReadLog]] = [pool.submit(ask, pod) for pod in pods]
    done, _late = wait(futures, timeout=max(0.0, deadline - clock.monotonic()))
    pool.shutdown(wait=False, cancel_futures=True)
    return [future.result() for future in futures if future in done]
