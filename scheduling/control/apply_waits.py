"""Why jobs wait, written only where it changed: a new row for a new code, the same row for new numbers (SCH-21)."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.models import Q

from scheduling.engine.plan import Holder, Plan, Wait
from scheduling.engine.vocabulary import WaitCode
from scheduling.models import CycleOrder, Job, Node, WaitReason
from scheduling.states import JobState

BATCH = 2_000
_JSON = ("need", "have", "short", "holders", "hint")
_FIELDS = ("code", *_JSON, "suggestion", "detail", "reserved_start", "kept_nodes")
_REFRESH = """
    UPDATE scheduling_waitreason AS w
       SET need = v.need, have = v.have, short = v.short, holders = v.holders, hint = v.hint, suggestion = v.suggestion,
           detail = v.detail, reserved_start = v.reserved_start, kept_nodes = string_to_array(v.kept_nodes, ' '),
           cycle_id = %s
      FROM unnest(%s::bigint[], %s::jsonb[], %s::jsonb[], %s::jsonb[], %s::jsonb[], %s::jsonb[], %s::text[], %s::text[],
                  %s::timestamptz[], %s::text[])
           AS v (id, need, have, short, holders, hint, suggestion, detail, reserved_start, kept_nodes)
     WHERE w.id = v.id AND w.until IS NULL
"""


def apply_waits(waits: Sequence[Wait], *, now: datetime, cycle_id: int) -> int:
    """Bring every waiting job's current reason up to date; returns how many rows were written."""
    wanted = {int(wait.job): _facts(wait, node_names) for node_names in [_node_names(waits)] for wait in waits}
    backoffs = [job for job, facts in wanted.items() if facts["code"] == WaitCode.BACKOFF and not facts["detail"]]
    for job, message in Job.objects.filter(pk__in=backoffs).values_list("pk", "backoff_message"):
        wanted[job]["detail"] = message
    current = {
        row["job_id"]: row
        for row in WaitReason.objects.filter(until__isnull=True, job__state=JobState.QUEUED.value).values(
            "pk", "job_id", *_FIELDS
        )
    }
    new = [job for job in sorted(wanted) if job not in current or current[job]["code"] != wanted[job]["code"]]
    fresher = [
        job
        for job in sorted(wanted)
        if job in current
        and current[job]["code"] == wanted[job]["code"]
        and any(current[job][name] != wanted[job][name] for name in _FIELDS)
    ]
    WaitReason.objects.filter(pk__in=[current[job]["pk"] for job in new if job in current]).update(until=now)
    queued = set(Job.objects.filter(pk__in=new, state=JobState.QUEUED.value).values_list("pk", flat=True))
    WaitReason.objects.bulk_create(
        [WaitReason(job_id=job, since=now, cycle_id=cycle_id, **wanted[job]) for job in new if job in queued], BATCH
    )
    _refresh([(current[job]["pk"], wanted[job]) for job in fresher], cycle_id)
    return len(new) + len(fresher)


def apply_order(plan: Plan, *, now: datetime, cycle_id: int) -> None:
    """The cycle's order of all waiting jobs, from which positions derive; written only where it changed."""
    ids = [int(job) for job in plan.order]
    same = CycleOrder.objects.filter(Q(pk=1) & Q(job_ids=ids)).exists()
    if not same:
        CycleOrder.objects.update_or_create(pk=1, defaults={"cycle_id": cycle_id, "job_ids": ids, "changed_at": now})


def _node_names(waits: Sequence[Wait]) -> dict[Any, str]:
    kept = {node for wait in waits for node in wait.kept}
    return dict(Node.objects.filter(pk__in=kept).values_list("pk", "name")) if kept else {}


def _facts(wait: Wait, node_names: Mapping[Any, str]) -> dict[str, Any]:
    start = wait.reserved_start_ms
    return {
        "code": wait.code.value,
        "need": dict(wait.need),
        "have": dict(wait.have),
        "short": dict(wait.short),
        "holders": [_holder(holder) for holder in wait.holders],
        "hint": dict(wait.hint),
        "suggestion": wait.suggestion,
        "detail": wait.detail[:1000],
        "reserved_start": None if start is None else datetime.fromtimestamp(start / 1000, UTC),
        "kept_nodes": [node_names[node] for node in wait.kept if node in node_names],
    }


def _holder(holder: Holder) -> dict[str, Any]:
    return {
        "tenant": holder.tenant,
        "queue": holder.queue,
        "job": holder.job,
        "amounts": dict(holder.amounts),
        "until_ms": holder.until_ms,
    }


def _refresh(rows: Sequence[tuple[int, dict[str, Any]]], cycle_id: int) -> None:
    if not rows:
        return
    documents = [[json.dumps(facts[name]) for _pk, facts in rows] for name in _JSON]
    with connection.cursor() as cursor:
        cursor.execute(
            _REFRESH,
            [
                cycle_id,
                [pk for pk, _facts in rows],
                *documents,
                [facts["suggestion"] for _pk, facts in rows],
                [facts["detail"] for _pk, facts in rows],
                [facts["reserved_start"] for _pk, facts in rows],
                [" ".join(facts["kept_nodes"]) for _pk, facts in rows],
            ],
        )
