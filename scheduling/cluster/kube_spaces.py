"""Tenants' namespaces behind the API server's door: single objects, whether a namespace takes runs, and access for its people."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from scheduling.cluster import kube_answers
from scheduling.cluster.kube_answers import judge_write
from scheduling.cluster.kube_calls import Answer, KubeCalls, NotAnsweredError
from scheduling.cluster.kube_kinds import path_of, path_of_all, version_of
from scheduling.cluster.kube_reading import quantity_milli, read_instant, read_managed
from scheduling.cluster.names import FIELD_MANAGER
from scheduling.cluster.port import (
    ClusterUnreachableError,
    Listing,
    ManagedObject,
    Manifest,
    RefusalCode,
    ResultKind,
    WriteResult,
)
from scheduling.cluster.space_port import MemberAccess
from scheduling.cluster.tenant_objects import MEMBERS, QUOTA

AGAIN_S = 1
"""What is only just being set up is asked for again soon."""
_OURS = (("fieldManager", FIELD_MANAGER),)
_MAY = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

List = Callable[[str, float], tuple[list[dict[str, Any]], str]]


class KubeSpaces:
    """`calls` is made with the first call; `lists` reads a whole list by its address."""

    def __init__(self, calls: Callable[[], KubeCalls], lists: List, now: Callable[[], datetime]) -> None:
        self._calls, self._lists, self._now = calls, lists, now

    def list_objects(self, *, kinds: Iterable[str], timeout_s: float) -> Listing[ManagedObject]:
        as_of, found, version = self._now(), [], ""
        for kind in kinds:
            items, version = self._lists(path_of_all(kind), timeout_s)
            found += [read_managed(item, api_version=version_of(kind), kind=kind) for item in items]
        return Listing(tuple(found), version, as_of)

    def read_object(self, kind: str, namespace: str, name: str, *, timeout_s: float) -> Manifest | None:
        answer = self._ask("GET", path_of(kind, namespace, name), timeout_s=timeout_s)
        if answer.status == kube_answers.NOT_FOUND:
            return None
        if answer.status != kube_answers.OK:
            raise ClusterUnreachableError(_words(answer))
        document: Manifest = answer.body
        return document

    def create_object(self, manifest: Manifest, *, timeout_s: float) -> WriteResult:
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], metadata.get("namespace", ""))
        return self._write("POST", path, manifest, timeout_s=timeout_s)

    def replace_object(self, manifest: Manifest, *, timeout_s: float) -> WriteResult:
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], metadata.get("namespace", ""), metadata["name"])
        return self._write("PUT", path, manifest, timeout_s=timeout_s)

    def delete_object(self, kind: str, namespace: str, name: str, *, timeout_s: float) -> WriteResult:
        try:
            answer = self._calls().call("DELETE", path_of(kind, namespace, name), timeout_s=timeout_s)
        except NotAnsweredError as error:
            return _not_answered(error, name)
        if answer.status == kube_answers.NOT_FOUND:
            return WriteResult(ResultKind.GONE, name)
        return judge_write(answer.status, answer.headers, answer.body, name)

    def check_space(self, namespace: str, *, timeout_s: float) -> WriteResult:
        try:
            answer = self._ask("GET", path_of("Namespace", name=namespace), timeout_s=timeout_s)
            if answer.status == kube_answers.NOT_FOUND:
                return _refused(namespace, RefusalCode.NAMESPACE_MISSING, _words(answer))
            if answer.status != kube_answers.OK:
                return WriteResult(ResultKind.UNREACHABLE, namespace, message=_words(answer))
            if (answer.body.get("status") or {}).get("phase") == "Terminating":
                return _refused(namespace, RefusalCode.NAMESPACE_TERMINATING, deleting(answer.body))
            quota = self.read_object("ResourceQuota", namespace, QUOTA, timeout_s=timeout_s)
            lacking = "its quota is not there yet" if quota is None else uncounted(quota)
            if not lacking and not self._may_run(namespace, timeout_s):
                lacking = "Berth has no rights in it yet"
        except ClusterUnreachableError as error:
            return WriteResult(ResultKind.UNREACHABLE, namespace, message=error.message)
        if lacking:
            words = f"namespace {namespace} is not ready: {lacking}"
            return replace(_refused(namespace, RefusalCode.NAMESPACE_MISSING, words), retry_after_s=AGAIN_S)
        return WriteResult(ResultKind.ACCEPTED, namespace)

    def member_access(self, namespace: str, *, seconds: int, timeout_s: float) -> MemberAccess:
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        path = f"{path_of('ServiceAccount', namespace, MEMBERS)}/token"
        answer = self._ask("POST", path, body=request, timeout_s=timeout_s)
        if answer.status not in (kube_answers.OK, kube_answers.CREATED):
            raise ClusterUnreachableError(_words(answer))
        given = answer.body["status"]
        server, authority = self._calls().address()
        return MemberAccess(server, authority, str(given["token"]), read_instant(given["expirationTimestamp"]))

    # --- inside ---

    def _may_run(self, namespace: str, timeout_s: float) -> bool:
        """Rights that were given a moment ago are not in force at once."""
        asked = {"namespace": namespace, "verb": "create", "resource": "pods"}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": asked},
        }
        answer = self._ask("POST", _MAY, body=review, timeout_s=timeout_s)
        if answer.status != kube_answers.CREATED:
            raise ClusterUnreachableError(_words(answer))
        return bool(answer.body["status"].get("allowed"))

    def _ask(self, method: str, path: str, *, body: Any = None, timeout_s: float) -> Answer:
        try:
            return self._calls().call(method, path, body=body, timeout_s=timeout_s)
        except NotAnsweredError as error:
            raise ClusterUnreachableError(error.message) from error

    def _write(self, method: str, path: str, manifest: Manifest, *, timeout_s: float) -> WriteResult:
        name = str(manifest["metadata"]["name"])
        try:
            answer = self._calls().call(method, path, query=_OURS, body=dict(manifest), timeout_s=timeout_s)
        except NotAnsweredError as error:
            return _not_answered(error, name)
        return judge_write(answer.status, answer.headers, answer.body, name)


def uncounted(quota: Mapping[str, Any]) -> str:
    """What of a quota the cluster does not count yet, in one line; empty where all is. Amounts are compared as amounts: `5000` is `5k`."""
    asked = (quota.get("spec") or {}).get("hard") or {}
    counted = (quota.get("status") or {}).get("hard") or {}
    differing = sorted(name for name, amount in asked.items() if not _same(amount, counted.get(name)))
    return f"its quota does not count {', '.join(differing[:3])} yet" if differing else ""


def deleting(namespace: Mapping[str, Any]) -> str:
    """That a namespace is being deleted, and by the cluster's own words what that waits for."""
    conditions: Sequence[Mapping[str, Any]] = (namespace.get("status") or {}).get("conditions") or []
    waits = [str(each.get("message", "")) for each in conditions if each.get("status") == "True"]
    blocked = f", blocked by: {'; '.join(filter(None, waits))}" if any(waits) else ""
    return f"namespace {namespace['metadata']['name']} is being deleted{blocked}"[: kube_answers.MOST_WORDS]


def _same(asked: Any, counted: Any) -> bool:
    try:
        return quantity_milli(str(asked)) == quantity_milli(str(counted))
    except ValueError:
        return False


def _refused(name: str, code: RefusalCode, words: str) -> WriteResult:
    return WriteResult(ResultKind.REFUSED, name, code=code, message=words)


def _words(answer: Answer) -> str:
    return kube_answers.message_of(answer.body) or f"HTTP {answer.status}"


def _not_answered(error: NotAnsweredError, name: str) -> WriteResult:
    kind = ResultKind.UNKNOWN if error.sent else ResultKind.UNREACHABLE
    return WriteResult(kind, name, message=error.message[: kube_answers.MOST_WORDS])
