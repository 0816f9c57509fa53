"""Why jobs wait, written only where it changed: a new row for a new code, the same row for new numbers (SCH-21)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from scheduling.engine.plan import Holder, Plan, Wait
from scheduling.engine.vocabulary import WaitCode
from scheduling.models import Job, Node, WaitReason
from scheduling.states import JobState

_JSON = ("need", "have", "short", "holders", "hint")
_NUMBERS = "need, have, short, holders, hint, suggestion, detail, reserved_start, kept_nodes"
_VALUES = """
      FROM (SELECT id, code, need, have, short, holders, hint, suggestion, detail, reserved_start, kept AS kept_nodes
              FROM jsonb_to_recordset(%s::jsonb) AS u (id bigint, code text, need jsonb, have jsonb, short jsonb, holders jsonb,
                   hint jsonb, suggestion text, detail text, reserved_start timestamptz, kept varchar[])) AS v
"""
"""All rows as one document: as arrays each of fifty thousand values would be quoted by itself."""
_OLD_NUMBERS = ", ".join(f"w.{name.strip()}" for name in _NUMBERS.split(","))
_NEW_NUMBERS = ", ".join(f"v.{name.strip()}" for name in _NUMBERS.split(","))
_REFRESH = f"""
    UPDATE scheduling_waitreason AS w SET ({_NUMBERS}) = ROW ({_NEW_NUMBERS}), cycle_id = %s {_VALUES}
     WHERE w.id = v.id AND w.until IS NULL AND ({_OLD_NUMBERS}) IS DISTINCT FROM ({_NEW_NUMBERS})
"""  # noqa: S608 - constants of this module only
_INSERT = f"""
    INSERT INTO scheduling_waitreason (job_id, code, since, cycle_id, {_NUMBERS})
    SELECT v.id, v.code, %s, %s, {_NEW_NUMBERS} {_VALUES}
     WHERE (SELECT j.state FROM scheduling_job j WHERE j.id = v.id) = 'queued'
"""  # noqa: S608 - constants of this module only
"""Asked row by row: after a burst of submits the planner believes that nothing is queued, and a join would compare each with each."""
_ORDER = """
    INSERT INTO scheduling_cycleorder AS o (id, cycle_id, job_ids, changed_at) VALUES (1, %s, %s::bigint[], %s)
        ON CONFLICT (id) DO UPDATE SET (cycle_id, job_ids, changed_at) = (excluded.cycle_id, excluded.job_ids, excluded.changed_at)
     WHERE o.job_ids IS DISTINCT FROM excluded.job_ids
"""
"""The ids as one parameter: Django's expressions would make an object of each of fifty thousand."""
_Key = tuple[Any, ...]


@dataclass(slots=True)
class WaitMemory:
    """What this process last wrote, by job: the row and what it said. Only saves sending again; the database compares too."""

    told: dict[int, tuple[int, _Key]] = field(default_factory=dict)


def apply_waits(waits: Sequence[Wait], memory: WaitMemory, *, now: datetime, cycle_id: int) -> int:
    """Bring every waiting job's current reason up to date; returns how many rows were sent. `memory` may be empty or wrong about
    rows that are closed by now, never about rows that stand."""
    current = {
        job: (pk, code)
        for pk, job, code in WaitReason.objects.filter(
            until__isnull=True, job__state=JobState.QUEUED.value
        ).values_list("pk", "job_id", "code")
    }
    new: list[tuple[int, Wait]] = []
    fresher: list[tuple[int, Wait]] = []
    told: dict[int, tuple[int, _Key]] = {}
    for wait in waits:
        job = int(wait.job)
        row = current.get(job)
        if row is None or row[1] != wait.code:
            new.append((job, wait))
            continue
        key = _key(wait)
        if memory.told.get(job) != (row[0], key) or wait.code is WaitCode.BACKOFF:
            fresher.append((row[0], wait))
        told[job] = (row[0], key)
    WaitReason.objects.filter(pk__in=[current[job][0] for job, _wait in new if job in current]).update(until=now)
    names, messages = _node_names(waits), _backoff_messages(waits)
    _send(_INSERT, [now, cycle_id], new, names, messages)
    _send(_REFRESH, [cycle_id], fresher, names, messages)
    memory.told = told
    return len(new) + len(fresher)


def apply_order(plan: Plan, *, now: datetime, cycle_id: int) -> None:
    """The cycle's order of all waiting jobs, from which positions derive; written only where it changed."""
    with connection.cursor() as cursor:
        cursor.execute(_ORDER, [cycle_id, [int(job) for job in plan.order], now])


def _key(wait: Wait) -> _Key:
    """Everything a reader sees of the reason but its position, which derives from the cycle's order."""
    return (
        wait.need, wait.have, wait.short, wait.holders, wait.hint, wait.suggestion, wait.detail, wait.reserved_start_ms, wait.kept
    )  # fmt: skip


def _node_names(waits: Sequence[Wait]) -> dict[Any, str]:
    kept = {node for wait in waits for node in wait.kept}
    return dict(Node.objects.filter(pk__in=kept).values_list("pk", "name")) if kept else {}


def _backoff_messages(waits: Sequence[Wait]) -> dict[int, str]:
    """The cluster's own words, which the planner does not know."""
    jobs = [int(wait.job) for wait in waits if wait.code is WaitCode.BACKOFF and not wait.detail]
    return dict(Job.objects.filter(pk__in=jobs).values_list("pk", "backoff_message")) if jobs else {}


def _holder(holder: Holder) -> dict[str, Any]:
    return {
        "tenant": holder.tenant,
        "queue": holder.queue,
        "job": holder.job,
        "amounts": dict(holder.amounts),
        "until_ms": holder.until_ms,
    }


def _send(
    statement: str,
    leading: Sequence[Any],
    rows: Sequence[tuple[int, Wait]],
    names: Mapping[Any, str],
    messages: Mapping[int, str],
) -> None:
    """One statement for any number of (id, reason); `leading` are its parameters before the columns."""
    if not rows:
        return
    document = json.dumps([_row(pk, wait, names, messages) for pk, wait in rows])
    with connection.cursor() as cursor:
        cursor.execute(statement, [*leading, document])


def _row(pk: int, wait: Wait, names: Mapping[Any, str], messages: Mapping[int, str]) -> dict[str, Any]:
    at_ms = wait.reserved_start_ms
    return {
        "id": pk,
        "code": wait.code.value,
        **{name: _document(wait, name) for name in _JSON},
        "suggestion": wait.suggestion,
        "detail": (wait.detail or messages.get(int(wait.job), ""))[:1000],
        "reserved_start": None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(),
        "kept": [names[node] for node in wait.kept if node in names],
    }


def _document(wait: Wait, name: str) -> Any:
    if name == "holders":
        return [_holder(holder) for holder in wait.holders]
    return dict(getattr(wait, name))
