"""Makes a run in an API server: its owner, then what the owner owns, side by side and within one deadline.

A name that is taken is read: what stands there is this run's only with its proof and the same owner (F03).
"""

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as OutOfTimeError
from dataclasses import dataclass, replace

from berth.common.crash_points import pass_point
from scheduling.cluster import kube_answers, names
from scheduling.cluster.kube_answers import judge_write
from scheduling.cluster.kube_calls import Answer, KubeCalls, NotAnsweredError
from scheduling.cluster.kube_kinds import path_of
from scheduling.cluster.manifests import own_by_service
from scheduling.cluster.port import Manifest, RefusalCode, ResultKind, RunManifests, RunResult, WriteResult

LEAST_SHARE = 8
"""Nothing is begun with less than this part of the call's time left: it would only be cut off, and then nobody knows."""
SLACK_S = 0.5
"""How long an answer that trickles in may be late: no call outlives its deadline by more."""
WINDOW = 8
THERE = (ResultKind.CREATED, ResultKind.EXISTS)


@dataclass(slots=True)
class RunMaker:
    """One `create_run`, until an instant of the monotonic clock. `pool` takes the pods of all runs that are made at the time."""

    calls: KubeCalls
    pool: Executor
    until: float
    least_s: float

    @classmethod
    def within(cls, timeout_s: float, *, calls: KubeCalls, pool: Executor) -> "RunMaker":
        return cls(calls, pool, time.monotonic() + timeout_s, timeout_s / LEAST_SHARE)

    def make(self, run: RunManifests) -> RunResult:
        """The owner first; without it nothing is tried, and everything carries its result."""
        service = self._create(run.service)
        if service.kind not in THERE:
            return RunResult(service, tuple(replace(service, name=_name(pod)) for pod in run.pods))
        pass_point("owner-made")
        secret = None if run.secret is None else self._create(_owned(run, run.secret, service))
        if secret is not None and secret.kind not in THERE:
            return RunResult(secret, tuple(replace(secret, name=_name(pod)) for pod in run.pods))
        return RunResult(service, self._create_all([_owned(run, pod, service) for pod in run.pods]))

    def _create_all(self, documents: Sequence[Manifest]) -> tuple[WriteResult, ...]:
        """In order, `WINDOW` under way: a large gang must not keep the pool from a small one."""
        if len(documents) == 1:
            return (self._create(documents[0]),)
        results: list[WriteResult] = []
        under_way: deque[tuple[Future[WriteResult], str]] = deque()
        for document in documents:
            if len(under_way) == WINDOW:
                results.append(self._outcome(*under_way.popleft()))
            under_way.append((self.pool.submit(self._create, document), _name(document)))
        return (*results, *(self._outcome(future, name) for future, name in under_way))

    def _outcome(self, future: Future[WriteResult], name: str) -> WriteResult:
        try:
            return future.result(timeout=max(0.0, self.until + SLACK_S - time.monotonic()))
        except OutOfTimeError:
            kind = ResultKind.UNSENT if future.cancel() else ResultKind.UNKNOWN
            return WriteResult(kind, name, message="the answer took too long")

    def _create(self, document: Manifest) -> WriteResult:
        metadata, name = document["metadata"], _name(document)
        path = path_of(document["kind"], metadata["namespace"])
        left = self.until - time.monotonic()
        if left < self.least_s:
            return WriteResult(ResultKind.UNSENT, name, message="no time was left for it")
        query = (("fieldManager", names.FIELD_MANAGER),)
        try:
            answer = self.calls.call("POST", path, query=query, body=dict(document), timeout_s=left)
            result = judge_write(answer.status, answer.headers, answer.body, name)
            # Quota is judged before the name: what is there already and fills it is refused as one too many.
            if kube_answers.is_already_there(answer.status, answer.body) or result.code is RefusalCode.QUOTA:
                left = max(self.least_s, self.until - time.monotonic())
                there = self.calls.call("GET", f"{path}/{name}", timeout_s=left)
                if result.code is not RefusalCode.QUOTA or there.status != kube_answers.NOT_FOUND:
                    return _whose(there, document, name)
        except NotAnsweredError as error:
            return not_answered(error, name)
        if document["kind"] == "Pod":
            pass_point("pod-made")
        return result


def not_answered(error: NotAnsweredError, name: str) -> WriteResult:
    """The result of a write without an answer."""
    kind = ResultKind.UNKNOWN if error.sent else ResultKind.UNREACHABLE
    return WriteResult(kind, name, message=error.message[: kube_answers.MOST_WORDS])


def _owned(run: RunManifests, document: Manifest, service: WriteResult) -> Manifest:
    return own_by_service(dict(document), service_name=run.name, service_uid=service.uid or "")


def _name(document: Manifest) -> str:
    return str(document["metadata"]["name"])


def _whose(there: Answer, wanted: Manifest, name: str) -> WriteResult:
    """An object of our name is ours only with our proof and, for what a run owns, the same owner: a stranger's is left alone."""
    if there.status != kube_answers.OK:
        return WriteResult(ResultKind.UNKNOWN, name, message=kube_answers.message_of(there.body))
    metadata, own = there.body["metadata"], wanted["metadata"]
    proof = (metadata.get("annotations") or {}).get(names.RUN_PROOF)
    owners = {owner["uid"] for owner in metadata.get("ownerReferences") or []}
    wanted_owners = {owner["uid"] for owner in own.get("ownerReferences") or []}
    if proof != own["annotations"][names.RUN_PROOF] or not wanted_owners <= owners or "deletionTimestamp" in metadata:
        words = f"{there.body.get('kind', 'object')} {name} is there already and not this run's, or is being deleted"
        return WriteResult(ResultKind.REFUSED, name, code=RefusalCode.CONFLICT, message=words)
    return WriteResult(ResultKind.EXISTS, name, uid=str(metadata["uid"]))
