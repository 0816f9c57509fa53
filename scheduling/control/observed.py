"""The documents that observation rows carry, to and from records. Times are ISO strings; what is absent is unknown."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scheduling.cluster.port import NodeObservation, PodObservation

POD, NODE, LISTED = "pod", "node", "listed"
"""Kinds of observation: one pod, one node, and one whole pass over a cluster (whether it answered, and as of when)."""


@dataclass(frozen=True, slots=True)
class SeenPod:
    """A pod as an observation row tells it. `gone` means its object was confirmed to be there no more."""

    namespace: str
    name: str
    uid: str
    phase: str
    created_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    last_sign_at: datetime | None
    exit_code: int | None
    reason: str
    message: str
    gone: bool
    asked_to_stop: bool = False


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node as an observation row tells it. `lost` says why it must be taken for lost, empty while it shows life.

    `cards_short` is how many cards are out of service beside `bad_cards` without anybody having told which.
    """

    name: str
    uid: str
    ready: bool | None
    cordoned: bool
    bad_cards: tuple[int, ...]
    lost: str
    last_sign_at: datetime | None
    barred_by: str = ""
    cards_short: int = 0
    caches: Mapping[str, str] | None = None
    """Its labels of data, where they are new (SCH-19)."""
    shape: Mapping[str, Any] | None = None
    """What a node that the platform did not know has: labels, resource, gpus, cpu_m, memory_mib, max_pods."""


def pod_document(pod: PodObservation, *, gone: bool) -> dict[str, Any]:
    """What a row keeps of a listed or deleted pod."""
    return {
        "namespace": pod.key.namespace,
        "phase": pod.phase.value.lower(),
        "created_at": _text(pod.created_at),
        "started_at": _text(pod.start_at),
        "finished_at": _text(pod.finished_at),
        "last_sign_at": _text(pod.last_sign),
        "exit_code": pod.exit_code,
        "reason": pod.reason,
        "message": pod.message,
        "gone": gone,
        "asked_to_stop": pod.deletion_at is not None,
    }


def gone_document(namespace: str, last_sign: datetime | None) -> dict[str, Any]:
    """What a row keeps of a pod that is there no more and whose end nobody saw."""
    return {"namespace": namespace, "phase": "gone", "last_sign_at": _text(last_sign), "gone": True}


def read_pod_document(name: str, uid: str, document: dict[str, Any]) -> SeenPod:
    """The record of a stored document."""
    return SeenPod(
        namespace=document["namespace"],
        name=name,
        uid=uid,
        phase=document["phase"],
        created_at=_instant(document.get("created_at")),
        started_at=_instant(document.get("started_at")),
        finished_at=_instant(document.get("finished_at")),
        last_sign_at=_instant(document.get("last_sign_at")),
        exit_code=document.get("exit_code"),
        reason=document.get("reason", ""),
        message=document.get("message", ""),
        gone=document["gone"],
        asked_to_stop=document.get("asked_to_stop", False),
    )


def node_document(
    node: NodeObservation,
    *,
    lost: str,
    last_sign: datetime | None,
    new: bool = False,
    short: int = 0,
    caches: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What a row keeps of a listed node; of a `new` one also what it has. `caches`: its labels of data, where they changed."""
    shape = {
        "labels": dict(node.labels),
        "resource": node.resource_name,
        "gpus": node.card_count,
        "cpu_m": node.cpu_millicores,
        "memory_mib": node.memory_mib,
        "max_pods": node.max_pods,
    }
    return {
        **({"shape": shape} if new else {}),
        **({"caches": dict(caches)} if caches is not None else {}),
        "ready": node.ready,
        "cordoned": node.unschedulable or bool(node.barred_by),
        "barred_by": node.barred_by,
        "bad_cards": list(node.unhealthy_cards),
        "cards_short": short,
        "lost": lost,
        "last_sign_at": _text(last_sign),
    }


def read_node_document(name: str, uid: str, document: dict[str, Any]) -> SeenNode:
    """The record of a stored document."""
    return SeenNode(
        name=name,
        uid=uid,
        ready=document["ready"],
        cordoned=document["cordoned"],
        bad_cards=tuple(document["bad_cards"]),
        lost=document["lost"],
        last_sign_at=_instant(document.get("last_sign_at")),
        barred_by=document.get("barred_by", ""),
        cards_short=document.get("cards_short", 0),
        shape=document.get("shape"),
        caches=document.get("caches"),
    )


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
