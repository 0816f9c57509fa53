"""Kubernetes' Node and Lease documents to the port's records. PURE; what is missing or strange is left unknown, never guessed."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from scheduling.cluster import names
from scheduling.cluster.kube_reading import Document, quantity_milli, read_instant
from scheduling.cluster.mig import instances_of
from scheduling.cluster.port import NodeLease, NodeObservation

UNHEALTHY_CARDS = "berth.dev/unhealthy-cards"
"""Annotation of a node: the indexes of cards out of service, `3` or `0,3`, as a card's health checker or a person sets it."""
_CARDS = re.compile(r"(^|[./-])(gpu|mig-|npu|ascend|dcu|mlu|vgpu|xpu)", re.IGNORECASE)
_BARS = ("NoSchedule", "NoExecute")
_TOLD_OTHERWISE = frozenset(
    f"node.kubernetes.io/{what}" for what in ("not-ready", "unreachable", "unschedulable")
)  # fmt: skip
"""Taints that only repeat what Ready and `unschedulable` say."""


def read_node(document: Document) -> NodeObservation:
    """A node as listed: what it can allocate. Cards are those of the first resource, by name, of which a card's device plugin has some.

    Cards that are cut into MIG instances are counted as the cards that they are, and only as far as all instances of one are there.
    """
    metadata, status, spec = document["metadata"], document.get("status") or {}, document.get("spec") or {}
    ready, since = _readiness(status, read_instant(metadata["creationTimestamp"]))
    capacity, allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    can_give = {**capacity, **allocatable}
    resource = _resource(capacity)
    per_card = 1000 * instances_of(resource)
    return NodeObservation(
        name=metadata["name"],
        uid=metadata["uid"],
        ready=ready,
        ready_since=since,
        unschedulable=bool(spec.get("unschedulable", False)),
        labels=metadata.get("labels") or {},
        resource_name=resource,
        card_count=quantity_milli(capacity.get(resource, "0")) // per_card,
        unhealthy_cards=_unhealthy(metadata.get("annotations") or {}),
        cpu_millicores=quantity_milli(can_give.get("cpu", "0")),
        memory_mib=quantity_milli(can_give.get("memory", "0")) // 1000 // 2**20,
        max_pods=quantity_milli(can_give.get("pods", "0")) // 1000,
        barred_by=_barred_by(spec.get("taints") or [], resource),
        allocatable_cards=quantity_milli(allocatable[resource]) // per_card if resource in allocatable else None,
    )


def _resource(capacity: Mapping[str, str]) -> str:
    """The name its cards are asked for by; a plugin that cuts all of them goes on to tell of none of `nvidia.com/gpu`."""
    told = [name for name in sorted(capacity) if "/" in name and _CARDS.search(name)]
    return next((name for name in told if quantity_milli(capacity[name]) > 0), told[0] if told else "")


def read_lease(document: Document) -> NodeLease | None:
    """A node's heartbeat; None for a lease that was never renewed."""
    renewed = (document.get("spec") or {}).get("renewTime")
    return NodeLease(document["metadata"]["name"], read_instant(renewed)) if renewed else None


def with_card_health(node: Document, index: int, *, healthy: bool) -> dict[str, str | None]:
    """The annotation that says it of this card and leaves the others as they are; None takes the annotation away."""
    bad = set(_unhealthy(node["metadata"].get("annotations") or {}))
    bad = bad - {index} if healthy else bad | {index}
    return {UNHEALTHY_CARDS: ",".join(map(str, sorted(bad))) or None}


def _barred_by(taints: Sequence[Mapping[str, str]], resource: str) -> str:
    """The first taint that is not meant for Berth: not its own, and not one that keeps a node with cards free of work without."""
    vendor = resource.partition("/")[0]
    for taint in taints:
        key = taint["key"]
        own = key.startswith(names.PREFIX) or (vendor and key.partition("/")[0] == vendor)
        if taint.get("effect") in _BARS and not own and key not in _TOLD_OTHERWISE:
            value = taint.get("value")
            return f"{key}={value}:{taint['effect']}" if value else f"{key}:{taint['effect']}"
    return ""


def _readiness(status: Document, created: datetime) -> tuple[bool | None, datetime]:
    for condition in status.get("conditions") or []:
        if condition["type"] == "Ready":
            ready = {"True": True, "False": False}.get(condition["status"])
            changed = condition.get("lastTransitionTime")
            return ready, read_instant(changed) if changed else created
    return False, created


def _unhealthy(annotations: Mapping[str, str]) -> tuple[int, ...]:
    parts = annotations.get(UNHEALTHY_CARDS, "").split(",")
    return tuple(sorted({int(part) for part in parts if part.strip().isdigit()}))
