"""A cluster for measuring the loop alone: pods are kept in memory, start when they are asked for, end on time and leave at once.

What Kueue's own measurement has instead of pods. Everything else (nodes, heartbeats, faults) is the simulated cluster's.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from typing import Any

from scheduling.cluster.pod_reading import read_pod
from scheduling.cluster.port import (
    ChangeKind,
    Listing,
    LogTail,
    PodChange,
    PodKey,
    PodObservation,
    PodPhase,
    ResultKind,
    RunManifests,
    RunResult,
    WriteResult,
)
from scheduling.cluster.readings import observe_pod
from scheduling.cluster.virtual import VirtualPod
from scheduling.control.simulated_cluster import SimulatedCluster

STOPPED = 143


class InstantCluster(SimulatedCluster):
    """`PodChange`s since the beginning are kept: a benchmark is short."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._pods_now: dict[PodKey, VirtualPod] = {}
        self._changed: list[VirtualPod] = []
        """One entry a version, from version 1 on."""
        self._mutex = Lock()

    def create_run(self, run: RunManifests, *, timeout_s: float) -> RunResult:
        name = str(run.service["metadata"]["name"])
        with self._mutex:
            made = tuple(self._start(manifest, run) for manifest in run.pods)
        return RunResult(WriteResult(ResultKind.CREATED, name, uid=f"uid-{name}"), made)

    def _start(self, manifest: Any, run: RunManifests) -> WriteResult:
        now = self._now()
        pod = read_pod(manifest, run_name=run.name, created_at=now)
        there = self._pods_now.get(pod.key)
        if there is not None:
            return WriteResult(ResultKind.EXISTS, pod.key.name, uid=there.uid)
        uid = f"uid-{pod.key.namespace}-{pod.key.name}"
        self._put(replace(pod, uid=uid, phase=PodPhase.RUNNING, start_at=now))
        return WriteResult(ResultKind.CREATED, pod.key.name, uid=uid)

    def _put(self, pod: VirtualPod) -> None:
        pod = replace(pod, resource_version=len(self._changed) + 1)
        self._changed.append(pod)
        if pod.removed:
            self._pods_now.pop(pod.key, None)
        else:
            self._pods_now[pod.key] = pod

    def _end_due(self) -> None:
        now = self._now()
        for pod in [each for each in self._pods_now.values() if each.phase is PodPhase.RUNNING]:
            end = (pod.start_at or now) + (pod.duration or timedelta(days=1))
            if end <= now:
                self._put(replace(pod, phase=PodPhase.SUCCEEDED, finished_at=end, exit_code=0, reason="Completed"))

    def _remove(self, pod: VirtualPod) -> None:
        if pod.phase is PodPhase.RUNNING:
            pod = replace(pod, phase=PodPhase.FAILED, finished_at=self._now(), exit_code=STOPPED, reason="Error")
        self._put(replace(pod, deletion_asked=self._now(), removed=True))

    def delete_run(self, namespace: str, name: str, *, timeout_s: float) -> WriteResult:
        with self._mutex:
            for pod in [
                each for each in self._pods_now.values() if (each.key.namespace, each.run_name) == (namespace, name)
            ]:
                self._remove(pod)
        return WriteResult(ResultKind.ACCEPTED, name)

    def delete_pod(self, key: PodKey, *, uid: str, grace_s: int, timeout_s: float) -> WriteResult:
        with self._mutex:
            pod = self._pods_now.get(key)
            if pod is None or pod.uid != uid:
                return WriteResult(ResultKind.GONE, key.name)
            self._remove(pod)
        return WriteResult(ResultKind.ACCEPTED, key.name, uid=uid)

    def force_delete_pod(self, key: PodKey, *, uid: str, timeout_s: float) -> WriteResult:
        return self.delete_pod(key, uid=uid, grace_s=0, timeout_s=timeout_s)

    def read_run(self, namespace: str, name: str, *, timeout_s: float) -> tuple[PodObservation, ...]:
        return tuple(
            each
            for each in self.list_pods(timeout_s=timeout_s).items
            if each.key.namespace == namespace and each.key.name.startswith(name)
        )

    def list_pods(self, *, timeout_s: float) -> Listing[PodObservation]:
        with self._mutex:
            self._end_due()
            now = self._now()
            items = tuple(observe_pod(pod, None, now=now) for pod in self._pods_now.values())
            return Listing(items, str(len(self._changed)), now)

    def watch_pods(self, resource_version: str, *, timeout_s: float) -> Iterator[PodChange]:
        with self._mutex:
            self._end_due()
            now, since = self._now(), self._changed[int(resource_version) :]
        for pod in since:
            kind = ChangeKind.DELETED if pod.removed else ChangeKind.MODIFIED
            yield PodChange(kind, observe_pod(pod, None, now=now), str(pod.resource_version))

    def read_logs(self, key: PodKey, *, tail_lines: int, most_bytes: int, timeout_s: float) -> LogTail:
        return LogTail("", available=True, truncated=False)
