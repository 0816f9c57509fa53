"""Kubernetes documents to the port's records. PURE: a document in, a record out; what is missing or strange is left unknown, never guessed."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from scheduling.cluster import names
from scheduling.cluster.port import (
    ManagedObject,
    PodKey,
    PodObservation,
    PodPhase,
)

Document = Mapping[str, Any]

_QUANTITY = re.compile(
    r"^(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][0-9]+)?)(?P<unit>n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"
)
_THOUSANDTHS = {
    "m": 1, "": 1000, "k": 1000**2, "M": 1000**3, "G": 1000**4, "T": 1000**5, "P": 1000**6, "E": 1000**7,
    "Ki": 1000 * 2**10, "Mi": 1000 * 2**20, "Gi": 1000 * 2**30, "Ti": 1000 * 2**40, "Pi": 1000 * 2**50, "Ei": 1000 * 2**60,
}  # fmt: skip
_WAITING_ENDS = frozenset(
    {"InvalidImageName", "ErrImageNeverPull", "ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError"}
)


def read_pod(document: Document, *, now: datetime, silent_since: datetime | None = None) -> PodObservation:
    """A pod as listed at `now`; on a node that is silent since then it is as its kubelet last said."""
    metadata, status = document["metadata"], document.get("status") or {}
    finished, exit_code, reason, message = _end(status)
    created = read_instant(metadata["creationTimestamp"])
    return PodObservation(
        key=PodKey(metadata.get("namespace", ""), metadata["name"]),
        uid=metadata["uid"],
        labels=metadata.get("labels") or {},
        node=(document.get("spec") or {}).get("nodeName", ""),
        phase=_phase(status),
        created_at=created,
        last_sign=finished or (now if silent_since is None else max(silent_since, created)),
        start_at=None if _is_refused(status) else _instant(status.get("startTime")),
        finished_at=finished,
        exit_code=exit_code,
        reason=reason,
        message=message,
        deletion_at=_instant(metadata.get("deletionTimestamp")),
        proof=(metadata.get("annotations") or {}).get(names.RUN_PROOF, ""),
    )


def read_managed(document: Document, *, api_version: str, kind: str) -> ManagedObject:
    """An object of a list; items of lists do not say their kind themselves."""
    metadata = document["metadata"]
    return ManagedObject(api_version, kind, metadata.get("namespace", ""), metadata["name"], document)


def is_managed_by(document: Document, manager: str) -> bool:
    """Whether a field manager of that name owns anything of the object."""
    return any(entry.get("manager") == manager for entry in document["metadata"].get("managedFields") or [])


def quantity_milli(text: str) -> int:
    """A Kubernetes quantity in thousandths, rounded down: `64` and `64000m` are the same. Raises ValueError for what is none."""
    found = _QUANTITY.match(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a quantity")
    number = found["number"].lower()
    if found["unit"] in ("n", "u"):
        return int(float(number)) // (10**6 if found["unit"] == "n" else 10**3)
    unit = _THOUSANDTHS[found["unit"] or ""]
    if "." in number or "e" in number:
        digits, _, exponent = number.partition("e")
        whole, _, part = digits.partition(".")
        return int(whole + part) * unit * 10 ** int(exponent or 0) // 10 ** len(part)
    return int(number) * unit


def read_instant(text: str) -> datetime:
    """An RFC 3339 instant, in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


def _instant(text: str | None) -> datetime | None:
    return None if not text else read_instant(text)


def _is_refused(status: Document) -> bool:
    """Turned away by its kubelet (`OutOf…`, `NodeAffinity`, `UnexpectedAdmissionError`): it has a start time and never held anything."""
    if _phase(status) is not PodPhase.FAILED or status.get("reason") == "Evicted":
        return False
    statuses = [each for of in ("initContainerStatuses", "containerStatuses") for each in status.get(of) or []]
    return not any((each.get("state") or {}).keys() & {"running", "terminated"} for each in statuses)


def _phase(status: Document) -> PodPhase:
    try:
        return PodPhase(status.get("phase", "Pending"))
    except ValueError:
        return PodPhase.UNKNOWN


def _end(status: Document) -> tuple[datetime | None, int | None, str, str]:
    """(the last container's end, exit code, reason, message). The first container that failed speaks for the pod.

    A pod that its kubelet refused or evicted says why in its status; one that waits for an image says so in its container.
    """
    ended = list(_terminated(status))
    instants = [at for each in ended if (at := _instant(each.get("finishedAt"))) is not None]
    finished = max(instants) if instants and _phase(status).ended else None
    decisive = next((each for each in ended if each.get("exitCode", 0) != 0), ended[0] if ended else {})
    reason, message = (
        status.get("reason") or decisive.get("reason", ""),
        status.get("message") or decisive.get("message", ""),
    )
    if not reason:
        waiting = next((each for each in _waiting(status) if each.get("reason") in _WAITING_ENDS), {})
        reason, message = waiting.get("reason", ""), waiting.get("message", "")
    return finished, decisive.get("exitCode"), reason, message


def _terminated(status: Document) -> Iterator[Document]:
    for of in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(of) or []:
            ended = (container.get("state") or {}).get("terminated")
            if ended and (of == "containerStatuses" or ended.get("exitCode", 0) != 0):
                yield ended


def _waiting(status: Document) -> Iterator[Document]:
    for of in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(of) or []:
            waiting = (container.get("state") or {}).get("waiting")
            if waiting:
                yield waiting
