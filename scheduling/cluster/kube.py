"""The Kubernetes adapter behind the cluster port: plain calls of an API server, each bounded in time, none repeated by itself."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property
from threading import Lock
from typing import Any

from scheduling.cluster import kube_answers, kube_documents, names
from scheduling.cluster.kube_answers import judge_write
from scheduling.cluster.kube_calls import (
    APPLY,
    MERGE,
    PODS_AT_ONCE,
    RUNS_AT_ONCE,
    STRATEGIC,
    Answer,
    KubeCalls,
    NotAnsweredError,
)
from scheduling.cluster.kube_creating import RunMaker, not_answered
from scheduling.cluster.kube_kinds import path_of, path_of_all, version_of
from scheduling.cluster.kube_logs import follow_log, read_log
from scheduling.cluster.kube_nodes import read_lease, read_node, with_card_health
from scheduling.cluster.kube_reading import is_managed_by, read_managed, read_pod
from scheduling.cluster.kube_silence import Silence
from scheduling.cluster.kube_spaces import KubeSpaces
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

PAGE = 1000
GONE_FROM_HISTORY = 410
OURS = f"{names.MANAGED_BY}={names.FIELD_MANAGER}"
_ANOTHER_UID = re.compile(r"metadata\.uid|UID in (the )?precondition", re.IGNORECASE)
"""How a server says that the object of this name is not the one that was meant."""
_RUN_NAME = re.compile(r"^j(?P<job>\d+)-r(?P<run>\d+)$")


class KubernetesCluster:
    """One cluster by its kubeconfig. `now` dates lists; the cluster's own times are in what it tells."""

    def __init__(
        self,
        name: str,
        credential_ref: str = "",
        *,
        now: Callable[[], datetime],
        calls: KubeCalls | None = None,
    ) -> None:
        self._name, self._credential_ref = name, credential_ref
        self._now, self._given = now, calls
        self._silence = Silence(now)
        self._making = Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def spaces(self) -> KubeSpaces:
        return KubeSpaces(
            lambda: self._calls, lambda path, timeout_s: self._list(path, (), timeout_s=timeout_s), self._now
        )

    @property
    def _calls(self) -> KubeCalls:
        """One a process, made with the first call, so after fork, whichever thread makes it."""
        with self._making:
            self._given = self._given or KubeCalls(self._credential_ref)
            return self._given

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(PODS_AT_ONCE, thread_name_prefix=f"kube-{self._name}")

    def health(self, *, timeout_s: float) -> Health:
        try:
            answer = self._calls.call("GET", "/version", timeout_s=timeout_s)
        except NotAnsweredError as error:
            return Health(reachable=False, message=error.message)
        if answer.status != kube_answers.OK:
            return Health(reachable=False, message=kube_answers.message_of(answer.body) or f"HTTP {answer.status}")
        return Health(reachable=True, message="", version=str(answer.body.get("gitVersion", "")))

    def capabilities(self) -> Capabilities:
        return Capabilities(
            real_pods=True, real_logs=True, settable_faults=False, reports_card_use=False, at_once=RUNS_AT_ONCE
        )

    # --- writes ---

    def create_run(self, run: RunManifests, *, timeout_s: float) -> RunResult:
        try:
            calls = self._calls
        except NotAnsweredError as error:
            nothing = not_answered(error, run.name)
            return RunResult(nothing, tuple(replace(nothing, name=str(pod["metadata"]["name"])) for pod in run.pods))
        return RunMaker.within(timeout_s, calls=calls, pool=self._pool).make(run)

    def delete_run(self, namespace: str, name: str, *, timeout_s: float) -> WriteResult:
        body = {"propagationPolicy": "Background"}
        return self._delete(path_of("Service", namespace, name), name, body, timeout_s=timeout_s)

    def delete_pod(self, key: PodKey, *, uid: str, grace_s: int, timeout_s: float) -> WriteResult:
        body = {"gracePeriodSeconds": grace_s, "preconditions": {"uid": uid}}
        return self._delete(path_of("Pod", key.namespace, key.name), key.name, body, timeout_s=timeout_s)

    def force_delete_pod(self, key: PodKey, *, uid: str, timeout_s: float) -> WriteResult:
        return self.delete_pod(key, uid=uid, grace_s=0, timeout_s=timeout_s)

    def annotate_pod(
        self, key: PodKey, *, uid: str, annotations: Mapping[str, str], condition: str | None, timeout_s: float
    ) -> WriteResult:
        path = path_of("Pod", key.namespace, key.name)
        patch = {"metadata": {"uid": uid, "annotations": dict(annotations)}}
        told = self._patch(path, key.name, patch, MERGE, timeout_s=timeout_s)
        if condition is None or told.kind is not ResultKind.ACCEPTED:
            return told
        at = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        reason = "".join(part.capitalize() for part in annotations.get(names.EVICT_REASON, "preempted").split("-"))
        entry = {"type": condition, "status": "True", "reason": reason, "lastTransitionTime": at}
        status = {"metadata": {"uid": uid}, "status": {"conditions": [entry]}}
        return self._patch(f"{path}/status", key.name, status, STRATEGIC, timeout_s=timeout_s)

    def apply_objects(self, manifests: Sequence[Manifest], *, timeout_s: float) -> tuple[WriteResult, ...]:
        return tuple(self._apply(manifest, timeout_s) for manifest in manifests)

    def set_cordon(self, node: str, *, cordoned: bool, timeout_s: float) -> WriteResult:
        patch = {"spec": {"unschedulable": cordoned or None}}
        return self._patch(path_of("Node", "", node), node, patch, MERGE, timeout_s=timeout_s)

    def set_card_health(self, node: str, index: int, *, healthy: bool, timeout_s: float) -> WriteResult:
        path = path_of("Node", "", node)
        try:
            there = self._calls.call("GET", path, timeout_s=timeout_s)
        except NotAnsweredError as error:
            return not_answered(error, node)
        if there.status != kube_answers.OK:
            return _gone_or(there, node)
        # With the version that was read: two who write at once must not undo each other.
        change = with_card_health(there.body, index, healthy=healthy)
        metadata = {"resourceVersion": there.body["metadata"]["resourceVersion"], "annotations": change}
        return self._patch(path, node, {"metadata": metadata}, MERGE, timeout_s=timeout_s)

    # --- reads ---

    def read_run(self, namespace: str, name: str, *, timeout_s: float) -> tuple[PodObservation, ...]:
        parsed = _RUN_NAME.match(name)
        if parsed is None:
            return ()
        mine = f"{OURS},{names.JOB}={parsed['job']},{names.RUN}={parsed['run']}"
        found = self._list(path_of("Pod", namespace), (("labelSelector", mine),), timeout_s=timeout_s)
        return tuple(sorted(map(self._observed, found[0]), key=lambda pod: pod.key))

    def list_pods(self, *, timeout_s: float) -> Listing[PodObservation]:
        as_of = self._now()
        items, version = self._list(
            path_of_all("Pod"), (("labelSelector", OURS),), read=kube_documents.read_pods, timeout_s=timeout_s
        )
        now, silent_since = self._now(), cache(self._silence.since)
        pods = (read_pod(each, now=now, silent_since=silent_since(_node_of(each))) for each in items)
        return Listing(tuple(sorted(pods, key=lambda pod: pod.key)), version, as_of)

    def list_nodes(self, *, timeout_s: float) -> Listing[NodeObservation]:
        as_of = self._now()
        items, version = self._list(path_of_all("Node"), (), read=kube_documents.read_nodes, timeout_s=timeout_s)
        return Listing(tuple(map(read_node, items)), version, as_of)

    def list_node_leases(self, *, timeout_s: float) -> Listing[NodeLease]:
        as_of = self._now()
        place = path_of("Lease", "kube-node-lease")
        items, version = self._list(place, (), read=kube_documents.read_leases, timeout_s=timeout_s)
        leases = tuple(lease for each in items if (lease := read_lease(each)) is not None)
        self._silence.note(leases, at=as_of)
        return Listing(leases, version, as_of)

    def list_card_use(self, *, timeout_s: float) -> Listing[CardUse]:
        return Listing((), "", self._now())

    def watch_pods(self, resource_version: str, *, timeout_s: float) -> Iterator[PodChange]:
        query = (
            ("watch", "true"),
            ("labelSelector", OURS),
            ("resourceVersion", resource_version),
            ("allowWatchBookmarks", "true"),
        )
        try:
            for event in self._calls.events(path_of_all("Pod"), query=query, timeout_s=timeout_s):
                yield self._change(event)
        except NotAnsweredError as error:
            raise ClusterUnreachableError(error.message) from error

    def list_managed(self, *, kinds: Iterable[str], timeout_s: float) -> Listing[ManagedObject]:
        as_of, found, version = self._now(), [], ""
        for kind in kinds:
            items, version = self._list(path_of_all(kind), (), timeout_s=timeout_s)
            found += [
                read_managed(item, api_version=version_of(kind), kind=kind)
                for item in items
                if is_managed_by(item, names.FIELD_MANAGER)
            ]
        return Listing(tuple(found), version, as_of)

    def read_logs(self, key: PodKey, *, tail_lines: int, most_bytes: int, timeout_s: float) -> LogTail:
        path = path_of("Pod", key.namespace, key.name)
        return read_log(lambda: self._calls, path, tail_lines=tail_lines, most_bytes=most_bytes, timeout_s=timeout_s)

    def follow_logs(
        self, key: PodKey, *, tail_lines: int, most_bytes: int, timeout_s: float, opened: Callable[[], None]
    ) -> LogTail:
        path, bounds = path_of("Pod", key.namespace, key.name), {"tail_lines": tail_lines, "most_bytes": most_bytes}
        return follow_log(lambda: self._calls, path, **bounds, timeout_s=timeout_s, opened=opened)

    # --- inside ---

    def _apply(self, manifest: Manifest, timeout_s: float) -> WriteResult:
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], metadata.get("namespace", ""), metadata["name"])
        query = (("fieldManager", names.FIELD_MANAGER), ("force", "true"))
        return self._patch(path, str(metadata["name"]), dict(manifest), APPLY, query=query, timeout_s=timeout_s)

    def _patch(
        self, path: str, name: str, body: Any, kind: str, *, query: Sequence[tuple[str, str]] = (), timeout_s: float
    ) -> WriteResult:
        try:
            answer = self._calls.call("PATCH", path, query=query, body=body, kind=kind, timeout_s=timeout_s)
        except NotAnsweredError as error:
            return not_answered(error, name)
        return (
            _gone_or(answer, name) if kind != APPLY else judge_write(answer.status, answer.headers, answer.body, name)
        )

    def _delete(self, path: str, name: str, body: Any, *, timeout_s: float) -> WriteResult:
        try:
            answer = self._calls.call("DELETE", path, body=body, timeout_s=timeout_s)
        except NotAnsweredError as error:
            return not_answered(error, name)
        result = _gone_or(answer, name)
        return replace(result, kind=ResultKind.ACCEPTED) if result.kind is ResultKind.CREATED else result

    def _list(
        self,
        path: str,
        query: Sequence[tuple[str, str]],
        *,
        read: kube_documents.Reader | None = None,
        timeout_s: float,
    ) -> tuple[list[dict[str, Any]], str]:
        """All pages. A list that expires between two pages has told nothing: the next one begins anew."""
        items: list[dict[str, Any]] = []
        more = ""
        while True:
            page = [*query, ("limit", str(PAGE)), *([("continue", more)] if more else [])]
            try:
                answer = self._calls.call("GET", path, query=page, read=read, timeout_s=timeout_s)
            except NotAnsweredError as error:
                raise ClusterUnreachableError(error.message) from error
            if answer.status != kube_answers.OK:
                words = kube_answers.message_of(answer.body) or f"HTTP {answer.status}"
                raise ClusterUnreachableError(words)
            items += answer.body.get("items") or []
            metadata = answer.body["metadata"]
            more = metadata.get("continue", "")
            if not more:
                return items, str(metadata["resourceVersion"])

    def _observed(self, document: Mapping[str, Any]) -> PodObservation:
        return read_pod(document, now=self._now(), silent_since=self._silence.since(_node_of(document)))

    def _change(self, event: Mapping[str, Any]) -> PodChange:
        kind, document = event["type"], event["object"]
        if kind == "ERROR":
            words = kube_answers.message_of(document)
            if document.get("code") == GONE_FROM_HISTORY:
                raise WatchExpiredError(words)
            raise ClusterUnreachableError(words)
        version = str(document["metadata"]["resourceVersion"])
        pod = None if kind == ChangeKind.BOOKMARK else self._observed(document)
        return PodChange(ChangeKind(kind), pod, version)


def _node_of(pod: Mapping[str, Any]) -> str:
    return str((pod.get("spec") or {}).get("nodeName", ""))


def _gone_or(answer: Answer, name: str) -> WriteResult:
    """Not there, or there under another uid: gone. Anything else as it was answered."""
    of_another = _ANOTHER_UID.search(kube_answers.message_of(answer.body)) is not None
    another = of_another and answer.status in (kube_answers.CONFLICT, kube_answers.UNPROCESSABLE)
    if another or answer.status == kube_answers.NOT_FOUND:
        return WriteResult(ResultKind.GONE, name)
    return judge_write(answer.status, answer.headers, answer.body, name)
