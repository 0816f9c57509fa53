"""Keeps what pods wrote beyond their lives, within a tenant's room in the store (DESIGN section 4: logs by size cap)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Sum

from berth.common import clock
from scheduling.cluster.port import LogTail
from scheduling.models import Pod, PodLog
from scheduling.services import log_store

logger = logging.getLogger(__name__)
JOBS_A_FOLDER = 1_000
DROPPED_AT_ONCE = 500
_CHANGES = ["kept_at", "path", "size", "whole", "cut", "missing", "message"]


@dataclass(frozen=True, slots=True)
class ReadLog:
    """One pod's output as the cluster gave it; `tail` None and `missing` where it could not be had. `pod` comes with its run's job.

    `whole`: the pod had ended when it was read.
    """

    pod: Pod
    tail: LogTail | None
    whole: bool
    missing: str = ""
    message: str = ""


def keep_logs(read: Sequence[ReadLog]) -> None:
    """Store what was read. Whole copies stay as they are; a copy gives way to a later one, and never to the word that there is none."""
    if not read:
        return
    known = {row.pod_id: row for row in PodLog.objects.filter(pod_id__in=[one.pod.pk for one in read])}
    fresh = [one for one in read if not _stays(known.get(one.pod.pk), one)]
    rows = [_row(one) for one in fresh]
    PodLog.objects.bulk_create(rows, update_conflicts=True, unique_fields=["pod"], update_fields=_CHANGES)
    replaced = (known[one.pod.pk].path for one in fresh if one.pod.pk in known)
    log_store.drop(path for path in replaced if path)


def drop_beyond_room() -> int:
    """Drop the oldest copies of tenants that have more than their room in the store; returns how many."""
    room, dropped = settings.BERTH_TENANT_LOGS_BYTES, 0
    held = PodLog.objects.exclude(path="").order_by().values("tenant_id").annotate(total=Sum("size"))
    for tenant, total in held.filter(total__gt=room).order_by("tenant_id").values_list("tenant_id", "total"):
        rows = []
        for row in PodLog.objects.filter(tenant_id=tenant).exclude(path="").order_by("id")[:DROPPED_AT_ONCE]:
            if total <= room:
                break
            total -= row.size
            rows.append(row)
        PodLog.objects.filter(pk__in=[row.pk for row in rows]).update(path="", size=0, missing=PodLog.Missing.DROPPED)
        log_store.drop(row.path for row in rows)
        dropped += len(rows)
        logger.info("logs dropped tenant=%s count=%s", tenant, len(rows))
    return dropped


def _stays(row: PodLog | None, one: ReadLog) -> bool:
    if row is None:
        return False
    return row.whole or (bool(row.path) and (one.tail is None or not one.tail.available))


def _row(one: ReadLog) -> PodLog:
    job = one.pod.run.job
    row = PodLog(pod=one.pod, tenant_id=job.tenant_id, kept_at=clock.now(), whole=one.whole)
    if one.tail is None or not one.tail.available:
        row.missing = one.missing or PodLog.Missing.NOTHING
        row.message = (one.message or (one.tail.message if one.tail else ""))[:500]
        return row
    name = f"t{job.tenant_id}/{job.pk // JOBS_A_FOLDER}/{one.pod.name}.log.gz"
    try:
        row.path, row.size = log_store.put(name, one.tail.text)
        row.cut = one.tail.truncated
    except OSError as error:
        # A full volume costs logs and nothing else (F42).
        logger.warning("log not kept pod=%s error=%s", one.pod.name, error)
        row.missing, row.message = PodLog.Missing.STORE, (error.strerror or str(error))[:500]
    return row
