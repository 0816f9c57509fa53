"""One step of the simulated cluster: (state, commands, now) -> state, as an API server and its kubelets would make it.

PURE and deterministic: what was due before `now` happens first, at its own instants and in their order; then the commands.
"""

import heapq
import uuid
from dataclasses import replace
from datetime import datetime, timedelta

from scheduling.cluster import names
from scheduling.cluster.kubelet import admit, end_of_work, leave
from scheduling.cluster.pod_reading import ManifestUnreadableError, read_pod
from scheduling.cluster.port import PodKey, PodPhase, RefusalCode, ResultKind, RunResult, WriteResult
from scheduling.cluster.virtual import (
    AnnotatePod,
    ClusterState,
    Command,
    CordonNode,
    CreateRun,
    DeletePod,
    DeleteRun,
    FailNode,
    NodeFailure,
    Outcome,
    RecoverNode,
    SetCardHealth,
    Step,
    VirtualNode,
    VirtualPod,
    VirtualService,
)

_UID_SPACE = uuid.UUID("6f1d2c8e-3b7a-5e0f-9a44-b0d5c0ffee00")


def step(state: ClusterState, commands: tuple[Command, ...], *, now: datetime, wall: datetime) -> Step:
    """Advance to `now`, then apply `commands` in order. `wall` dates the silence of nodes; nothing else uses it."""
    machine = _Machine(state, now=now, wall=wall)
    machine.advance()
    outcomes = tuple(machine.apply(command) for command in commands)
    return Step(machine.frozen(), outcomes)


def next_event(pod: VirtualPod, *, node_responds: bool) -> tuple[datetime, str] | None:
    """When this pod changes by itself and how (`start`, `end`, `leave`); None if nothing is due until something else happens."""
    if pod.removed or not node_responds:
        return None
    due: list[tuple[datetime, str]] = []
    if pod.stop_at is not None:
        due.append((pod.stop_at, "leave"))
    if pod.phase is PodPhase.PENDING and pod.start_due is not None:
        due.append((pod.start_due, "start"))
    if pod.phase is PodPhase.RUNNING and pod.duration is not None and pod.start_at is not None:
        due.append((pod.start_at + pod.duration, "end"))
    return min(due, default=None)


def whole_second_after(at: datetime) -> datetime:
    """The first whole second not before `at`: a pod starts within a second of its creation, on a whole one."""
    whole = at.replace(microsecond=0)
    return whole if whole == at else whole + timedelta(seconds=1)


class _Machine:
    """The step's working copy. Every change of a pod takes the next resource version, so that watches can follow."""

    def __init__(self, state: ClusterState, *, now: datetime, wall: datetime) -> None:
        self.now, self.wall = now, wall
        self.version = state.resource_version
        self.nodes = dict(state.nodes)
        self.pods = dict(state.pods)
        self.services = dict(state.services)

    def frozen(self) -> ClusterState:
        return ClusterState(self.version, self.nodes, self.pods, self.services)

    def advance(self) -> None:
        """Everything that is due, in order of its instant and then of the pod's key."""
        due = [entry for pod in self.pods.values() if (entry := self._due(pod)) is not None]
        heapq.heapify(due)
        while due:
            at, key, event = heapq.heappop(due)
            pod = self.pods[key]
            if event == "start":
                pod = self._put(admit(pod, self.nodes[pod.node], self._on_node(pod.node), at=at))
            elif event == "end":
                pod = self._put(end_of_work(pod, at=at))
            else:
                pod = self._put(leave(pod, at=at))
            if (following := self._due(pod)) is not None:
                heapq.heappush(due, following)

    def apply(self, command: Command) -> Outcome:
        match command:
            case CreateRun():
                return self._create_run(command)
            case DeleteRun():
                return self._delete_run(command)
            case DeletePod():
                return self._delete_pod(command)
            case AnnotatePod():
                return self._annotate(command)
            case FailNode() | RecoverNode() | CordonNode() | SetCardHealth():
                return self._change_node(command)

    def _due(self, pod: VirtualPod) -> tuple[datetime, PodKey, str] | None:
        event = next_event(pod, node_responds=self._responds(pod.node))
        return None if event is None or event[0] > self.now else (event[0], pod.key, event[1])

    def _responds(self, name: str) -> bool:
        node = self.nodes.get(name)
        return node is not None and node.silent_since is None

    def _on_node(self, name: str) -> list[VirtualPod]:
        return [pod for _, pod in sorted(self.pods.items()) if pod.node == name and pod.live]

    def _put(self, pod: VirtualPod) -> VirtualPod:
        self.version += 1
        pod = replace(pod, resource_version=self.version)
        self.pods[pod.key] = pod
        return pod

    def _uid(self, key: PodKey) -> str:
        return str(uuid.uuid5(_UID_SPACE, f"{key.namespace}/{key.name}/{self.version}"))

    def _create_run(self, command: CreateRun) -> RunResult:
        run = command.run
        owner = PodKey(run.namespace, run.name)
        kind = ResultKind.EXISTS
        if owner not in self.services:
            kind = ResultKind.CREATED
            self.version += 1
            self.services[owner] = VirtualService(owner, self._uid(owner))
        service = WriteResult(kind, run.name, uid=self.services[owner].uid)
        return RunResult(service, tuple(self._create_pod(owner, manifest) for manifest in run.pods))

    def _create_pod(self, owner: PodKey, manifest: object) -> WriteResult:
        try:
            wanted = read_pod(manifest, run_name=owner.name, created_at=self.now)
        except ManifestUnreadableError as error:
            return WriteResult(ResultKind.REFUSED, error.name, code=RefusalCode.INVALID, message=str(error))
        present = self.pods.get(wanted.key)
        if present is not None and not present.removed and present.deletion_asked is not None:
            words = f"{wanted.key.name} is being deleted"
            return WriteResult(ResultKind.REFUSED, wanted.key.name, code=RefusalCode.CONFLICT, message=words)
        if present is not None and not present.removed:
            return WriteResult(ResultKind.EXISTS, wanted.key.name, uid=present.uid)
        due = whole_second_after(self.now) if self._responds(wanted.node) else None
        self.version += 1
        made = self._put(replace(wanted, uid=self._uid(wanted.key), start_due=due))
        return WriteResult(ResultKind.CREATED, made.key.name, uid=made.uid)

    def _delete_run(self, command: DeleteRun) -> WriteResult:
        owner = PodKey(command.namespace, command.name)
        service = self.services.pop(owner, None)
        if service is None:
            return WriteResult(ResultKind.GONE, command.name)
        self.version += 1
        for key in sorted(self.pods):
            pod = self.pods[key]
            if key.namespace == command.namespace and pod.run_name == command.name and not pod.removed:
                self._ask_to_stop(pod, timedelta(seconds=pod.grace_s))
        return WriteResult(ResultKind.ACCEPTED, command.name, uid=service.uid)

    def _delete_pod(self, command: DeletePod) -> WriteResult:
        pod = self.pods.get(command.key)
        if pod is None or pod.removed or pod.uid != command.uid:
            return WriteResult(ResultKind.GONE, command.key.name)
        if command.force:
            self._put(replace(pod, removed=True))
        else:
            grace = timedelta(seconds=pod.grace_s) if command.grace is None else command.grace
            self._ask_to_stop(pod, grace)
        return WriteResult(ResultKind.ACCEPTED, command.key.name, uid=pod.uid)

    def _ask_to_stop(self, pod: VirtualPod, grace: timedelta) -> None:
        """SIGTERM. A second delete never lengthens a grace that runs; one that asks for less shortens it."""
        if pod.deletion_asked is not None:
            end = pod.deletion_asked + (pod.deletion_grace or timedelta(0))
            if self.now + grace >= end:
                return
        asked = pod.deletion_asked or self.now
        pod = replace(pod, deletion_asked=asked, deletion_grace=self.now + grace - asked)
        self._put(self._seen_by_kubelet(pod) if self._responds(pod.node) else pod)

    def _seen_by_kubelet(self, pod: VirtualPod) -> VirtualPod:
        """A pod that never ran or has ended goes at once; a running one after its stop delay, at the latest with its grace."""
        if pod.phase is not PodPhase.RUNNING:
            return replace(pod, removed=True)
        if pod.stop_delay is None:
            return pod
        asked, grace = pod.deletion_asked or self.now, pod.deletion_grace or timedelta(0)
        stop_at = min(self.now + pod.stop_delay, max(self.now, asked + grace))
        return replace(pod, stop_at=stop_at if pod.stop_at is None else min(stop_at, pod.stop_at))

    def _annotate(self, command: AnnotatePod) -> WriteResult:
        pod = self.pods.get(command.key)
        if pod is None or pod.removed or pod.uid != command.uid:
            return WriteResult(ResultKind.GONE, command.key.name)
        self._put(replace(pod, annotations={**pod.annotations, **command.annotations}))
        return WriteResult(ResultKind.ACCEPTED, command.key.name, uid=pod.uid)

    def _change_node(self, command: FailNode | RecoverNode | CordonNode | SetCardHealth) -> WriteResult:
        node = self.nodes.get(command.node)
        if node is None:
            return WriteResult(ResultKind.GONE, command.node)
        self.version += 1
        match command:
            case FailNode():
                self.nodes[node.name] = self._failed(node, command.failure)
            case RecoverNode():
                self._recover(node)
            case CordonNode():
                self.nodes[node.name] = replace(node, cordoned=command.cordoned)
            case SetCardHealth():
                change = {command.index}
                cards = node.unhealthy_cards - change if command.healthy else node.unhealthy_cards | change
                self.nodes[node.name] = replace(node, unhealthy_cards=cards)
        return WriteResult(ResultKind.ACCEPTED, node.name, uid=node.uid)

    def _failed(self, node: VirtualNode, failure: NodeFailure) -> VirtualNode:
        if failure is NodeFailure.SILENT:
            since = node.silent_since or self.now
            return replace(node, silent_since=since, silent_since_wall=node.silent_since_wall or self.wall)
        return replace(node, ready=False, ready_since=self.now if node.ready else node.ready_since)

    def _recover(self, node: VirtualNode) -> None:
        """The kubelet is back: it starts what waited, reports late what ended meanwhile, and sees deletes it had missed."""
        was_silent = node.silent_since is not None
        since = node.ready_since if node.ready and not was_silent else self.now
        self.nodes[node.name] = replace(node, ready=True, ready_since=since, silent_since=None, silent_since_wall=None)
        if not was_silent:
            return
        for key in sorted(self.pods):
            pod = self.pods[key]
            if pod.node == node.name and not pod.removed and pod.phase is PodPhase.PENDING and pod.start_due is None:
                self._put(replace(pod, start_due=whole_second_after(self.now)))
        self.advance()
        for key in sorted(self.pods):
            pod = self.pods[key]
            if pod.node == node.name and not pod.removed and pod.deletion_asked is not None:
                self._put(self._seen_by_kubelet(pod))


def owned_labels(pod: VirtualPod) -> bool:
    """Whether Berth made this pod, as a list by label would find it."""
    return pod.labels.get(names.MANAGED_BY) == names.FIELD_MANAGER
