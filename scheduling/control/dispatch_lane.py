"""One cluster's part of what is sent: its runs side by side, until the time is over or the cluster wants to be left alone.

It calls the cluster and nothing else; what came of it is told run by run and recorded by `dispatch`, meanwhile.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from berth.common import clock
from berth.common.crash_points import pass_point
from scheduling.cluster import names
from scheduling.cluster.manifests import ManifestError, build_run
from scheduling.cluster.names import pod_name
from scheduling.cluster.port import (
    ClusterPort,
    ClusterUnreachableError,
    Manifest,
    RefusalCode,
    ResultKind,
    RunManifests,
    RunResult,
    WriteResult,
)
from scheduling.cluster.run_spec import RunSpec
from scheduling.control.space_gate import SpaceGate
from scheduling.models import Run
from scheduling.states import RunState

SLICE_S = 2.0
"""How long one run may take to be sent."""
MADE = (ResultKind.CREATED, ResultKind.EXISTS)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one run: `result` from the cluster, or `problem` where it could not even be sent."""

    run: Run
    result: RunResult | None = None
    problem: str = ""
    too_early: bool = False
    """Its namespace is only just being set up: it is left as it is for now."""

    @property
    def is_final(self) -> bool:
        """Whole, or refused in a way that trying again at once would not change."""
        if self.result is None:
            return not self.too_early
        refusal = self.result.refusal
        return self.result.whole or (refusal is not None and refusal.code is not RefusalCode.THROTTLED)

    @property
    def is_joining(self) -> bool:
        """Not the run was sent, but what joins it."""
        return self.run.state != RunState.ADMITTED.value

    @property
    def is_whole(self) -> bool:
        return self.result is not None and self.result.whole

    @property
    def is_unfinished(self) -> bool:
        """Only time was lacking: it goes on with the next slice."""
        return not self.is_final and self.has(ResultKind.UNSENT) and not self.has(ResultKind.UNKNOWN)

    @property
    def may_have_happened(self) -> bool:
        """Something of it was made, or may have been."""
        return self.has(ResultKind.UNKNOWN, *MADE)

    @property
    def was_heard(self) -> bool:
        """The cluster said something about it."""
        return self.has(ResultKind.REFUSED, *MADE)

    @property
    def throttled(self) -> WriteResult | None:
        """Where the cluster asked to be left alone."""
        refusal = None if self.result is None else self.result.refusal
        return refusal if refusal is not None and refusal.code is RefusalCode.THROTTLED else None

    def has(self, *kinds: ResultKind) -> bool:
        """Whether the owner or any pod was answered like that."""
        return self.result is not None and any(each.kind in kinds for each in (self.result.service, *self.result.pods))


@dataclass(slots=True)
class Lane:
    """Runs of one cluster with what is to be sent; `unsure` are those whose create may have happened."""

    cluster_id: int
    port: ClusterPort
    queue: deque[tuple[Run, RunSpec]]
    unsure: frozenset[int]
    gate: SpaceGate
    heard: bool = False
    """The cluster said something since the lane was made."""
    _closed: bool = False

    @property
    def at_once(self) -> int:
        return self.port.capabilities().at_once

    def send(self, tell: Callable[[Answer], None], until: float) -> None:
        """Take runs off the queue and tell of each; after `until` (monotonic) nothing new is begun. Safe in several threads at once."""
        for run, spec in self._next(until):
            tell(self._send(run, spec, clock.monotonic() + SLICE_S))

    def close(self) -> None:
        """Begin nothing new."""
        self._closed = True

    def _next(self, until: float) -> Iterator[tuple[Run, RunSpec]]:
        while not self._closed and clock.monotonic() < until:
            try:
                yield self.queue.popleft()
            except IndexError:
                return

    def _send(self, run: Run, spec: RunSpec, until: float) -> Answer:
        try:
            manifests = build_run(spec)
        except ManifestError as error:
            return Answer(run, problem=str(error))
        pass_point("sending")
        if run.state != RunState.ADMITTED.value:
            # It is there; what is not yet sent of it is what joins it, and nothing else of it may be made again.
            manifests = replace(manifests, pods=_joining(manifests, spec))
            answer = Answer(run, self._complete(manifests, until))
        elif run.pk in self.unsure:
            answer = Answer(run, self._complete(manifests, until))
        else:
            closed = self.gate.problem(self.port, manifests.namespace, timeout_s=_left(until))
            if closed is not None and closed.retry_after_s is not None:
                return Answer(run, too_early=True)
            answer = Answer(run, RunResult(closed, ()) if closed else self._create(manifests, until))
        pass_point("sent")
        self.heard = self.heard or answer.was_heard
        if answer.has(ResultKind.REFUSED):
            self.gate.forget(self.port.name, manifests.namespace)
        if answer.throttled is not None or answer.has(ResultKind.UNREACHABLE, ResultKind.UNKNOWN):
            self.close()
        return answer

    def _create(self, manifests: RunManifests, until: float) -> RunResult:
        return self.port.create_run(manifests, timeout_s=_left(until))

    def _complete(self, manifests: RunManifests, until: float) -> RunResult:
        """A create that may have happened is read before it is repeated: only what is not there is made (F03, F20)."""
        try:
            found = self.port.read_run(manifests.namespace, manifests.name, timeout_s=_left(until))
        except ClusterUnreachableError as error:
            return _nothing_learnt(manifests, error.message)
        proof = _proof(manifests)
        there = {pod.key.name: pod.uid for pod in found if pod.proof == proof and pod.deletion_at is None}
        wanted = [str(pod["metadata"]["name"]) for pod in manifests.pods]
        missing = tuple(pod for pod, name in zip(manifests.pods, wanted, strict=True) if name not in there)
        service = WriteResult(ResultKind.EXISTS, manifests.name)
        made: dict[str, WriteResult] = {}
        if missing:
            result = self._create(replace(manifests, pods=missing), until)
            service, made = result.service, {pod.name: pod for pod in result.pods}
        known = {name: WriteResult(ResultKind.EXISTS, name, uid=uid) for name, uid in there.items()}
        return RunResult(service, tuple(made.get(name) or known[name] for name in wanted))


def _joining(manifests: RunManifests, spec: RunSpec) -> tuple[Manifest, ...]:
    names_of = {pod_name(spec.job_id, spec.run_number, pod.role, pod.index) for pod in spec.pods if not pod.sent}
    return tuple(pod for pod in manifests.pods if pod["metadata"]["name"] in names_of)


def _left(until: float) -> float:
    return max(0.1, until - clock.monotonic())


def _proof(manifests: RunManifests) -> str:
    return str(manifests.service["metadata"]["annotations"][names.RUN_PROOF])


def _nothing_learnt(manifests: RunManifests, message: str) -> RunResult:
    """Unsure as before."""
    service = WriteResult(ResultKind.UNKNOWN, manifests.name, message=message)
    return RunResult(service, tuple(replace(service, name=str(pod["metadata"]["name"])) for pod in manifests.pods))
