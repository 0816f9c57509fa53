"""The simulated adapter behind the cluster port: the pure step's state in tables of its own, on a connection of its own.

What a real API server would do, it does; what a real one may do wrong, the fault plan makes it do. It must never read or write the
platform's tables.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import transaction

from berth.common import clock
from scheduling.cluster.faults import FaultKind, answer_after_fault, failed_write, made_before_fault
from scheduling.cluster.names import PREFIX
from scheduling.cluster.port import (
    Capabilities,
    CardUse,
    ChangeKind,
    ClusterUnreachableError,
    Health,
    Listing,
    LogTail,
    ManagedObject,
    Manifest,
    NodeLease,
    NodeObservation,
    PodChange,
    PodKey,
    PodObservation,
    ResultKind,
    RunManifests,
    RunResult,
    WatchExpiredError,
    WriteResult,
)
from scheduling.cluster.readings import heartbeat, observe_node, observe_pod, read_cards, tell_log
from scheduling.cluster.simulated import owned_labels, step
from scheduling.cluster.virtual import (
    AnnotatePod,
    Command,
    CordonNode,
    CreateRun,
    DeletePod,
    DeleteRun,
    FailNode,
    Outcome,
    RecoverNode,
    SetCardHealth,
    VirtualNode,
)
from scheduling.control import simulated_rows as rows
from scheduling.control.simulated_faults import FaultPlan, crash_if_planned, garble_changes, garble_listing
from scheduling.models import SimulatedCluster as ClusterRow
from scheduling.models import SimulatedNode, SimulatedObject, SimulatedPod

WATCH_STEP_S = 0.2
Item = TypeVar("Item")


class SimulatedCluster:
    """`ClusterPort` over virtual nodes. A credential is taken for the sake of the other adapter and not used."""

    def __init__(
        self,
        name: str,
        _credential_ref: str = "",
        *,
        now: Callable[[], datetime] | None = None,
        wall: Callable[[], datetime] | None = None,
    ) -> None:
        self._name = name
        self._now: Callable[[], datetime] = now or clock.now
        self._wall: Callable[[], datetime] = wall or clock.wall_now
        self.faults = FaultPlan(name)
        self._served: dict[str, Listing[Any]] = {}

    @property
    def name(self) -> str:
        return self._name

    def health(self, *, timeout_s: float) -> Health:
        try:
            self.faults.take_for_read("health", "", timeout_s)
        except ClusterUnreachableError as error:
            return Health(reachable=False, message=error.message)
        return Health(reachable=True, message="", version="simulated")

    @property
    def spaces(self) -> None:
        return None

    def capabilities(self) -> Capabilities:
        return Capabilities(real_pods=False, real_logs=False, settable_faults=True, reports_card_use=True)

    # --- writes ---

    def create_run(self, run: RunManifests, *, timeout_s: float) -> RunResult:
        names = " ".join(str(document["metadata"]["name"]) for document in (run.service, *run.pods))
        fault = self.faults.take_for_write("create_run", names, timeout_s)
        if fault is None:
            return self._created(run)
        part = made_before_fault(fault, run)
        made = None if part is None else self._created(part)
        crash_if_planned(fault)
        return answer_after_fault(fault, run, made)

    def read_run(self, namespace: str, name: str, *, timeout_s: float) -> tuple[PodObservation, ...]:
        self.faults.take_for_read("read_run", name, timeout_s)
        found = SimulatedPod.objects.using(rows.ALIAS).filter(namespace=namespace, run_name=name, removed=False)
        return self._observed(found)[0]

    def delete_run(self, namespace: str, name: str, *, timeout_s: float) -> WriteResult:
        return self._write("delete_run", name, DeleteRun(namespace, name), timeout_s)

    def delete_pod(self, key: PodKey, *, uid: str, grace_s: int, timeout_s: float) -> WriteResult:
        return self._write("delete_pod", key.name, DeletePod(key, uid, timedelta(seconds=grace_s)), timeout_s)

    def force_delete_pod(self, key: PodKey, *, uid: str, timeout_s: float) -> WriteResult:
        return self._write("force_delete_pod", key.name, DeletePod(key, uid, force=True), timeout_s)

    def annotate_pod(
        self, key: PodKey, *, uid: str, annotations: Mapping[str, str], condition: str | None, timeout_s: float
    ) -> WriteResult:
        told = dict(annotations) if condition is None else {**annotations, f"{PREFIX}condition": condition}
        return self._write("annotate_pod", key.name, AnnotatePod(key, uid, told), timeout_s)

    def apply_objects(self, manifests: Sequence[Manifest], *, timeout_s: float) -> tuple[WriteResult, ...]:
        return tuple(self._apply_object(manifest, timeout_s) for manifest in manifests)

    def set_cordon(self, node: str, *, cordoned: bool, timeout_s: float) -> WriteResult:
        return self._write("set_cordon", node, CordonNode(node, cordoned=cordoned), timeout_s)

    def set_card_health(self, node: str, index: int, *, healthy: bool, timeout_s: float) -> WriteResult:
        return self._write("set_card_health", node, SetCardHealth(node, index, healthy=healthy), timeout_s)

    # --- reads ---

    def list_pods(self, *, timeout_s: float) -> Listing[PodObservation]:
        def fresh() -> Listing[PodObservation]:
            found = SimulatedPod.objects.using(rows.ALIAS).filter(removed=False)
            items, version = self._observed(found)
            return Listing(items, str(version), self._now())

        return self._listed("list_pods", fresh, timeout_s)

    def list_nodes(self, *, timeout_s: float) -> Listing[NodeObservation]:
        return self._listed(
            "list_nodes",
            lambda: Listing(tuple(observe_node(node) for node in self._nodes()), self._version(), self._now()),
            timeout_s,
        )

    def list_node_leases(self, *, timeout_s: float) -> Listing[NodeLease]:
        wall = self._wall()
        return self._listed(
            "list_node_leases",
            lambda: Listing(tuple(heartbeat(node, wall=wall) for node in self._nodes()), self._version(), self._now()),
            timeout_s,
        )

    def list_card_use(self, *, timeout_s: float) -> Listing[CardUse]:
        def fresh() -> Listing[CardUse]:
            self.tick()
            now, nodes = self._now(), {node.name: node for node in self._nodes()}
            pods = map(
                rows.read_pod_row, self._pods().filter(removed=False, phase="Running").order_by("namespace", "name")
            )
            readings = (read_cards(pod, nodes.get(pod.node), now=now) for pod in pods)
            return Listing(tuple(reading for reading in readings if reading is not None), self._version(), now)

        return self._listed("list_card_use", fresh, timeout_s)

    def list_managed(self, *, kinds: Iterable[str], timeout_s: float) -> Listing[ManagedObject]:
        wanted = sorted(set(kinds))

        def fresh() -> Listing[ManagedObject]:
            found = SimulatedObject.objects.using(rows.ALIAS).filter(cluster=self._name, kind__in=wanted)
            items = tuple(
                ManagedObject(row.api_version, row.kind, row.namespace, row.name, row.manifest)
                for row in found.order_by("kind", "namespace", "name")
            )
            return Listing(items, self._version(), self._now())

        return self._listed("list_managed", fresh, timeout_s)

    def watch_pods(self, resource_version: str, *, timeout_s: float) -> Iterator[PodChange]:
        fault = self.faults.take_for_watch(timeout_s)
        if fault is not None and fault.kind is FaultKind.STALL:
            return
        since, deadline = int(resource_version), time.monotonic() + timeout_s
        if ClusterRow.objects.using(rows.ALIAS).filter(name=self._name, oldest_version__gt=since).exists():
            raise WatchExpiredError(f"too old resource version: {since}")
        while True:
            changes = self._changes(since)
            yield from garble_changes(changes, fault)
            since = max([since, *(int(change.resource_version) for change in changes)])
            if time.monotonic() + WATCH_STEP_S >= deadline:
                return
            time.sleep(WATCH_STEP_S)

    def read_logs(self, key: PodKey, *, tail_lines: int, most_bytes: int, timeout_s: float) -> LogTail:
        self.faults.take_for_read("read_logs", key.name, timeout_s)
        self.tick()
        row = self._pods().filter(namespace=key.namespace, name=key.name).order_by("-resource_version").first()
        if row is None:
            return LogTail("", available=False, truncated=False, message=f'pods "{key.name}" not found')
        return tell_log(rows.read_pod_row(row), tail_lines=tail_lines, most_bytes=most_bytes)

    def follow_logs(
        self, key: PodKey, *, tail_lines: int, most_bytes: int, timeout_s: float, opened: Callable[[], None]
    ) -> LogTail:
        """Told from the pod's record, which stays for a while after it is gone: there is nothing to wait for."""
        tail = self.read_logs(key, tail_lines=tail_lines, most_bytes=most_bytes, timeout_s=timeout_s)
        opened()
        return tail

    # --- the world outside: for the demo, the admin and tests ---

    def ensure_nodes(self, nodes: Sequence[VirtualNode]) -> None:
        """Put nodes into the cluster, or bring them to the given shape."""
        with transaction.atomic(using=rows.ALIAS):
            rows.lock_cluster(self._name)
            rows.store_nodes(self._name, nodes)

    def act(self, command: Command) -> Outcome:
        """Let something happen to a node, card or pod now."""
        return self._step((command,))[0]

    def tick(self) -> None:
        """Let everything happen that is due."""
        if rows.due_nodes(self._name, self._now()):
            self._step(())

    # --- inside ---

    def _created(self, run: RunManifests) -> RunResult:
        outcome = self._step((CreateRun(run),))[0]
        assert isinstance(outcome, RunResult)  # noqa: S101 - what the step answers to CreateRun
        return outcome

    def _step(self, commands: tuple[Command, ...]) -> tuple[Outcome, ...]:
        with transaction.atomic(using=rows.ALIAS):
            cluster = rows.lock_cluster(self._name)
            now = self._now()
            nodes = {*rows.due_nodes(self._name, now), *self._touched(commands)}
            before = rows.load_state(cluster, nodes=nodes, owners=_owners(commands))
            done = step(before, commands, now=now, wall=self._wall())
            rows.store_state(cluster, before, done.state)
        return done.outcomes

    def _touched(self, commands: tuple[Command, ...]) -> set[str]:
        """Every node that a command can reach."""
        found: set[str] = set()
        for command in commands:
            match command:
                case CreateRun(run=run):
                    found |= {str(pod["spec"]["nodeName"]) for pod in run.pods}
                    found |= self._nodes_of(namespace=run.namespace, run_name=run.name)
                case DeleteRun(namespace=namespace, name=name):
                    found |= self._nodes_of(namespace=namespace, run_name=name)
                case DeletePod(key=key) | AnnotatePod(key=key):
                    found |= self._nodes_of(namespace=key.namespace, name=key.name)
                case FailNode(node=node) | RecoverNode(node=node) | CordonNode(node=node) | SetCardHealth(node=node):
                    found.add(node)
        return found

    def _nodes_of(self, **where: str) -> set[str]:
        return set(self._pods().filter(removed=False, **where).values_list("node", flat=True))

    def _pods(self) -> Any:
        return SimulatedPod.objects.using(rows.ALIAS).filter(cluster=self._name)

    def _nodes(self) -> list[VirtualNode]:
        found = SimulatedNode.objects.using(rows.ALIAS).filter(cluster=self._name).order_by("name")
        return [rows.read_node_row(row) for row in found]

    def _version(self) -> str:
        row = ClusterRow.objects.using(rows.ALIAS).filter(name=self._name).first()
        return str(row.resource_version if row else 0)

    def _observed(self, found: Any) -> tuple[tuple[PodObservation, ...], int]:
        """The version is read before the pods: a watch from it may tell twice, and misses nothing."""
        self.tick()
        version, now = int(self._version()), self._now()
        nodes = {node.name: node for node in self._nodes()}
        pods = [rows.read_pod_row(row) for row in found.filter(cluster=self._name).order_by("namespace", "name")]
        items = tuple(observe_pod(pod, nodes.get(pod.node), now=now) for pod in pods if owned_labels(pod))
        return items, version

    def _changes(self, since: int) -> list[PodChange]:
        self.tick()
        now, nodes = self._now(), {node.name: node for node in self._nodes()}
        found = map(
            rows.read_pod_row, self._pods().filter(resource_version__gt=since).order_by("resource_version", "uid")
        )
        return [
            PodChange(
                ChangeKind.DELETED if pod.removed else ChangeKind.MODIFIED,
                observe_pod(pod, nodes.get(pod.node), now=now),
                str(pod.resource_version),
            )
            for pod in found
            if owned_labels(pod)
        ]

    def _write(self, operation: str, name: str, command: Command, timeout_s: float) -> WriteResult:
        fault = self.faults.take_for_write(operation, name, timeout_s)
        if fault is not None:
            crash_if_planned(fault)
            if fault.kind is not FaultKind.LOST_ANSWER:
                return failed_write(fault, name)
        outcome = self._step((command,))[0]
        assert isinstance(outcome, WriteResult)  # noqa: S101 - what the step answers to every other command
        return outcome if fault is None else failed_write(fault, name)

    def _apply_object(self, manifest: Manifest, timeout_s: float) -> WriteResult:
        metadata, name = manifest["metadata"], str(manifest["metadata"]["name"])
        fault = self.faults.take_for_write("apply_objects", name, timeout_s)
        if fault is not None and fault.kind is not FaultKind.LOST_ANSWER:
            return failed_write(fault, name)
        row, made = SimulatedObject.objects.using(rows.ALIAS).update_or_create(
            cluster=self._name,
            kind=manifest["kind"],
            namespace=metadata.get("namespace", ""),
            name=name,
            defaults={"api_version": manifest["apiVersion"], "manifest": dict(manifest)},
            create_defaults={
                "api_version": manifest["apiVersion"], "manifest": dict(manifest), "uid": str(uuid.uuid4())
            },
        )  # fmt: skip
        answer = WriteResult(ResultKind.CREATED if made else ResultKind.ACCEPTED, name, uid=row.uid)
        return answer if fault is None else failed_write(fault, name)

    def _listed(self, operation: str, fresh: Callable[[], Listing[Item]], timeout_s: float) -> Listing[Item]:
        fault = self.faults.take_for_read(operation, "", timeout_s)
        if fault is not None and fault.kind is FaultKind.STALE and operation in self._served:
            return self._served[operation]
        listing = fresh()
        self._served[operation] = listing
        return garble_listing(listing, fault)


def _owners(commands: tuple[Command, ...]) -> list[PodKey]:
    owners = [PodKey(command.run.namespace, command.run.name) for command in commands if isinstance(command, CreateRun)]
    owners += [PodKey(command.namespace, command.name) for command in commands if isinstance(command, DeleteRun)]
    return owners
