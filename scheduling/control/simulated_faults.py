"""The stored fault plan of one simulated cluster: takes the rule that strikes a call, and garbles what is served."""

import os
import signal
import time
from dataclasses import replace
from typing import TypeVar

from django.db import transaction

from scheduling.cluster.faults import FaultKind, FaultRule, take_fault
from scheduling.cluster.port import ChangeKind, ClusterUnreachableError, Listing, PodChange, WatchExpiredError
from scheduling.control.simulated_rows import ALIAS, read_fault_row
from scheduling.models import SimulatedFault

Item = TypeVar("Item")
_SERVED_GARBLED = frozenset({FaultKind.STALE, FaultKind.DUPLICATE, FaultKind.REORDER})


class FaultPlan:
    """Rules are rows, so that a test can set them for the processes it starts."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster

    def add(self, rule: FaultRule) -> int:
        """Store a rule; returns its id (the rule's own is not used)."""
        fields = ("operation", "times", "match", "after", "seconds", "message", "retry_after_s")
        values = {field: getattr(rule, field) for field in fields}
        row = SimulatedFault.objects.using(ALIAS).create(
            cluster=self._cluster, kind=rule.kind.value, code=rule.code.value, **values
        )
        return int(row.pk)

    def clear(self) -> None:
        """Drop every rule."""
        SimulatedFault.objects.using(ALIAS).filter(cluster=self._cluster).delete()

    def take(self, operation: str, name: str = "") -> FaultRule | None:
        """The rule that strikes this call, used up by one."""
        stored = SimulatedFault.objects.using(ALIAS).filter(cluster=self._cluster)
        if not stored.exists():
            return None
        with transaction.atomic(using=ALIAS):
            rules = [read_fault_row(row) for row in stored.select_for_update().order_by("id")]
            fault, _rest = take_fault(rules, operation, name)
            if fault is not None and fault.times is not None:
                stored.filter(pk=fault.id).update(times=fault.times - 1)
        return fault

    def take_for_write(self, operation: str, name: str, timeout_s: float) -> FaultRule | None:
        """A write's fault, its waiting done. A stall shorter than the caller's patience leaves no fault."""
        fault = self.take(operation, name)
        if fault is None or fault.kind is not FaultKind.STALL:
            return fault
        time.sleep(min(fault.seconds, timeout_s))
        return None if fault.seconds < timeout_s else fault

    def take_for_read(self, operation: str, name: str, timeout_s: float) -> FaultRule | None:
        """A read's fault: stalls and unreachability raise, what garbles an answer is left to the caller."""
        fault = self.take_for_write(operation, name, timeout_s)
        if fault is None or fault.kind in _SERVED_GARBLED:
            return fault
        raise ClusterUnreachableError(fault.message or fault.kind.value)

    def take_for_watch(self, timeout_s: float) -> FaultRule | None:
        """A watch's fault: 410 and unreachability raise; a stall has waited and leaves a silent watch to the caller."""
        fault = self.take("watch_pods")
        if fault is not None and fault.kind is FaultKind.STALL:
            time.sleep(min(fault.seconds, timeout_s))
        if fault is not None and fault.kind is FaultKind.EXPIRED:
            raise WatchExpiredError("too old resource version")
        if fault is not None and fault.kind is FaultKind.UNREACHABLE:
            raise ClusterUnreachableError(fault.message or fault.kind.value)
        return fault


def crash_if_planned(fault: FaultRule) -> None:
    """kill -9 of this very process, where the plan says so: nothing of ours gets to clean up."""
    if fault.kind is FaultKind.CRASH:
        os.kill(os.getpid(), signal.SIGKILL)


def garble_listing(listing: Listing[Item], fault: FaultRule | None) -> Listing[Item]:
    """A list as a bad cache would serve it."""
    match fault.kind if fault is not None else None:
        case FaultKind.DUPLICATE:
            return replace(listing, items=listing.items + listing.items)
        case FaultKind.REORDER:
            return replace(listing, items=listing.items[::-1])
        case _:
            return listing


def garble_changes(changes: list[PodChange], fault: FaultRule | None) -> list[PodChange]:
    """Watch events as a bad connection would bring them."""
    match fault.kind if fault is not None else None:
        case FaultKind.DUPLICATE:
            return changes + changes
        case FaultKind.REORDER:
            return changes[::-1]
        case FaultKind.DROP_DELETED:
            return [change for change in changes if change.kind is not ChangeKind.DELETED]
        case _:
            return changes
