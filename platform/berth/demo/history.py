"""Turns the lived past into rows, as the loop would have written them: jobs, runs, pods, leases, segments, transitions, loans.

What was still running when the past ends stays an admitted run with open leases: the loop takes it from there.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import models, transaction
from psycopg.types.range import TimestamptzRange

from berth.common import units
from berth.demo.copying import copy_rows
from berth.demo.past import Attempt, PastJob
from berth.demo.workload import Ask
from scheduling.cluster.names import SIM_DURATION, SIM_OUTCOME, SIM_UTILISATION, pod_name
from scheduling.engine.plan import Placement
from scheduling.models import (
    Card,
    Job,
    Lease,
    LeaseSegment,
    Loan,
    LoanSide,
    Node,
    Pod,
    Preemption,
    Role,
    RoleFlavor,
    Run,
    Transition,
)
from scheduling.services.judging import judge
from scheduling.services.resolved import shape_key
from tenants.models import Cohort, Flavor, Queue, Tenant, User
from tenants.permissions import Action

ROLE: Final = "worker"
IMAGE: Final = "registry.example/train:2026.10"
ENDED: Final = ("succeeded", "failed", "cancelled")


@dataclass(slots=True)
class _Known:
    """Rows that history points at, by the names the engine used."""

    queues: dict[tuple[str, str], Queue]
    flavors: dict[str, Flavor]
    nodes: dict[str, Node]
    cards: dict[tuple[int, int], int]
    users: dict[str, User]
    tenants: dict[str, Tenant]
    cohorts: dict[str, Cohort]
    shapes: dict[tuple[Any, ...], str] = field(default_factory=dict)


@dataclass(slots=True)
class _Rows:
    """Instances by model, with primary keys given in order."""

    known: _Known
    since: datetime
    rows: dict[type[models.Model], list[Any]] = field(default_factory=lambda: defaultdict(list))

    def add(self, model: type[models.Model], **values: Any) -> Any:
        found = self.rows[model]
        row = model(id=len(found) + 1, **values)
        found.append(row)
        return row

    def at(self, ms: int) -> datetime:
        return self.since + timedelta(milliseconds=ms)


def load_history(jobs: list[PastJob], *, since: datetime) -> int:
    """COPY the past into an organisation without jobs. Returns the number of jobs. All or nothing."""
    rows = _Rows(_known(), since.astimezone(UTC))
    for job in jobs:
        _add_job(rows, job)
    order = (
        Job, Role, RoleFlavor, Run, Pod, Lease, LeaseSegment, Preemption, Loan, LoanSide, Transition,
    )  # fmt: skip
    with transaction.atomic():
        for model in order:
            copy_rows(model, rows.rows[model])
    return len(jobs)


def body_of(ask: Ask) -> dict[str, Any]:
    """The ask as a body of `POST /jobs`."""
    resources: dict[str, Any] = {"gpu": ask.cards, "cpu": ask.cpu, "memory": ask.memory_gib}
    if ask.flavor:
        resources["flavors"] = [ask.flavor]
    body: dict[str, Any] = {
        "tenant": ask.tenant,
        "queue": ask.queue,
        "name": ask.name,
        "tier": ask.tier,
        "priority": ask.priority,
        "roles": [
            {
                "name": ROLE,
                "replicas": ask.pods,
                "resources": resources,
                "image": IMAGE,
                "command": ["python", "train.py"],
            }
        ],
        "max_restarts": 3 if ask.outcome == "succeeded" else 0,
        "checkpoint": {"path": "/ckpt", "interval": 300},
        "labels": {
            "team": ask.name.rsplit("-", 2)[0],
            SIM_DURATION: str(ask.duration_s),
            SIM_OUTCOME: ask.outcome,
            SIM_UTILISATION: "0.72",
        },
    }
    if ask.max_runtime_s is not None:
        body["max_runtime"] = ask.max_runtime_s
    if ask.rack:
        body["topology"] = {"mode": "preferred", "level": "rack"}
    return body


def _known() -> _Known:
    return _Known(
        queues={
            (queue.tenant.slug, queue.name): queue
            for queue in Queue.objects.select_related("tenant__cohort", "pool__cluster")
        },
        flavors={flavor.name: flavor for flavor in Flavor.objects.all()},
        nodes={node.name: node for node in Node.objects.all()},
        cards={(card.node_id, card.index): card.pk for card in Card.objects.all()},
        users={user.username: user for user in User.objects.all()},
        tenants={tenant.slug: tenant for tenant in Tenant.objects.all()},
        cohorts={cohort.name: cohort for cohort in Cohort.objects.all()},
    )


def _shape_of(known: _Known, ask: Ask, body: dict[str, Any]) -> str:
    key = (ask.tenant, ask.queue, ask.pods, ask.cards, ask.cpu, ask.memory_gib, ask.flavor, ask.rack)
    if key not in known.shapes:
        judged = judge(known.users[f"{ask.tenant}-member"], body, Action.JOB_SUBMIT)
        known.shapes[key] = shape_key(judged.raise_if_refused().shape, judged.config)
    return known.shapes[key]


def _add_job(rows: _Rows, past: PastJob) -> None:
    ask, known = past.ask, rows.known
    queue, body = known.queues[ask.tenant, ask.queue], body_of(ask)
    submitted = ask.at.astimezone(UTC)
    last = past.attempts[-1] if past.attempts else None
    state = _state(ask, last)
    ended = rows.at(last.end_ms) if last is not None and last.end_ms is not None and state in ENDED else None
    labels = dict(body["labels"])
    if state not in ENDED:
        labels[SIM_DURATION] = str(past.left_s)
    job = rows.add(
        Job,
        tenant_id=queue.tenant_id,
        queue_id=queue.pk,
        user_id=known.users[f"{ask.tenant}-member"].pk,
        name=ask.name,
        tier=ask.tier,
        priority=ask.priority,
        state=state,
        labels=labels,
        spec=body,
        shape_key=_shape_of(known, ask, body),
        submitted_at=submitted,
        order_at=submitted,
        eligible_at=submitted,
        started_at=rows.at(past.attempts[0].start_ms) if past.attempts else None,
        ended_at=ended,
        end_reason=ask.outcome if ended else "",
        max_runtime_s=ask.max_runtime_s,
        max_restarts=body["max_restarts"],
        runs_count=len(past.attempts),
        preemptions=sum(attempt.notice_ms is not None and attempt.end_ms is not None for attempt in past.attempts),
        topology_mode="preferred" if ask.rack else "none",
        topology_level="rack" if ask.rack else "",
        checkpoint_path="/ckpt",
        checkpoint_interval_s=300,
    )
    _add_role(rows, job, ask)
    _moved(rows, job, submitted, "", "queued", "submitted", actor=f"{ask.tenant}-member")
    for number, attempt in enumerate(past.attempts, start=1):
        _add_attempt(rows, job, queue, number, attempt, ask)


def _state(ask: Ask, last: Attempt | None) -> str:
    if last is None or (last.end_ms is not None and last.notice_ms is not None):
        return "queued"
    if last.end_ms is None:
        return "starting"
    return "succeeded" if ask.outcome == "succeeded" else "failed"


def _add_role(rows: _Rows, job: Job, ask: Ask) -> None:
    role = rows.add(
        Role,
        job_id=job.pk,
        position=0,
        name=ROLE,
        replicas=ask.pods,
        minimum=ask.pods,
        cards_m=units.to_milli(ask.cards),
        cpu_m=units.to_milli(ask.cpu),
        memory_mib=units.gib_to_mib(ask.memory_gib),
        image=IMAGE,
        command=["python", "train.py"],
    )
    if ask.flavor:
        rows.add(RoleFlavor, role_id=role.pk, flavor_id=rows.known.flavors[ask.flavor].pk, position=0)


def _moved(
    rows: _Rows, job: Job, at: datetime, old: str, new: str, reason: str, *, run: Run | None = None, actor: str = ""
) -> None:
    rows.add(
        Transition,
        at=at,
        job_id=job.pk,
        run_id=None if run is None else run.pk,
        tenant_id=job.tenant_id,
        subject="job" if run is None else "run",
        old=old,
        new=new,
        reason=reason,
        actor=actor,
    )


def _add_attempt(rows: _Rows, job: Job, queue: Queue, number: int, attempt: Attempt, ask: Ask) -> None:
    start = rows.at(attempt.start_ms)
    over = attempt.end_ms is not None
    preempted = attempt.notice_ms is not None
    reason = "preempted" if preempted else ask.outcome
    end = rows.at(attempt.end_ms) if attempt.end_ms is not None else None
    run = rows.add(
        Run,
        job_id=job.pk,
        number=number,
        cluster_id=queue.pool.cluster_id,
        namespace=f"{queue.tenant.slug}-{queue.environment}",
        state="ended" if over else "admitted",
        admitted_at=start,
        admitted_wall=start,
        dispatched_at=start,
        started_at=start if over else None,
        stopping_at=rows.at(attempt.notice_ms) if attempt.notice_ms is not None and over else None,
        stop_reason="preempted" if preempted and over else "",
        ended_at=end,
        end_reason=reason if over else "",
        last_sign_at=end,
        slowdown_ppm=attempt.slowdown_ppm,
        levels_crossed=",".join(attempt.levels_crossed),
        resumes=number > 1,
    )
    _moved(rows, job, start, "queued", "starting", "admitted")
    if over:
        _moved(rows, job, start, "starting", "running", "started")
        _end_attempt(rows, job, run, attempt, reason)
    _add_pods(rows, run, attempt, reason)
    for opened_ms, loan in attempt.loans:
        _add_loan(rows, run, queue, attempt, opened_ms, loan)


def _end_attempt(rows: _Rows, job: Job, run: Run, attempt: Attempt, reason: str) -> None:
    assert attempt.end_ms is not None  # noqa: S101 - the caller's case
    end = rows.at(attempt.end_ms)
    if attempt.notice_ms is None:
        new = "succeeded" if reason == "succeeded" else "failed"
        _moved(rows, job, end, "running", new, reason)
        return
    notice = rows.at(attempt.notice_ms)
    grace = timedelta(seconds=30 if job.tier == "batch" else 300)
    cards = sum(placement.cards_m for placement in attempt.placements) // units.MILLI
    since_checkpoint = (attempt.notice_ms - attempt.start_ms) // 1000 % 300
    rows.add(
        Preemption,
        run_id=run.pk,
        job_id=job.pk,
        for_job_id=attempt.for_job,
        reason=attempt.preempt_reason,
        notice_at=notice,
        grace_until=notice + grace,
        outcome="left",
        left_at=end,
        lost_card_s=cards * since_checkpoint,
    )
    _moved(rows, job, notice, "running", "stopping", attempt.preempt_reason)
    _moved(rows, job, end, "stopping", "queued", "preempted")


def _add_pods(rows: _Rows, run: Run, attempt: Attempt, reason: str) -> None:
    phase = {"succeeded": "succeeded", "preempted": "gone"}.get(reason, "failed")
    for rank, placement in enumerate(attempt.placements):
        node = rows.known.nodes[str(placement.node)]
        over = attempt.end_ms is not None
        pod = rows.add(
            Pod,
            run_id=run.pk,
            role_name=placement.role,
            rank=rank,
            index=placement.index,
            name=pod_name(run.job_id, run.number, placement.role, placement.index),
            node_id=node.pk,
            phase=phase if over else "planned",
            created_at=run.admitted_at if over else None,
            started_at=run.started_at,
            finished_at=run.ended_at,
            exit_code={"succeeded": 0, "preempted": 143, "oom": 137}.get(reason, 1) if over else None,
        )
        _add_leases(rows, run, pod, placement, attempt)


def _add_leases(rows: _Rows, run: Run, pod: Pod, placement: Placement, attempt: Attempt) -> None:
    """One lease a card, own cards first; a change of the split closes a segment and opens the next."""
    known = rows.known
    flavor = None if placement.flavor is None else known.flavors[str(placement.flavor)].pk
    slots: list[int | None] = list(placement.cards) or [None]
    for slot, card in enumerate(slots):
        flags = [
            (
                at_ms,
                card is not None
                and slot >= len(placement.cards) - split[placement.role, placement.index] // units.MILLI,
            )
            for at_ms, split in attempt.borrowed
        ]
        lease = rows.add(
            Lease,
            run_id=run.pk,
            pod_id=pod.pk,
            slot=slot,
            node_id=pod.node_id,
            card_id=None if card is None else known.cards[pod.node_id, card],
            flavor_id=flavor,
            quantity=0 if card is None else units.UNITS_PER_CARD,
            borrowed=flags[-1][1],
            cpu_m=placement.cpu_m if slot == 0 else 0,
            memory_mib=placement.memory_mib if slot == 0 else 0,
            vram_mib=placement.vram_mib // max(1, len(placement.cards)),
            opened_at=run.admitted_at,
            closed_at=run.ended_at,
        )
        _add_segments(rows, lease, flags, attempt)


def _add_segments(rows: _Rows, lease: Lease, flags: list[tuple[int, bool]], attempt: Attempt) -> None:
    if attempt.end_ms is None:
        # What an open lease held before its last change of split is cut already, as the loop would have done.
        until_ms = flags[-1][0]
    else:
        until_ms = attempt.notice_ms or attempt.end_ms
    merged = [flag for i, flag in enumerate(flags) if i == 0 or flag[1] != flags[i - 1][1]]
    ends = [at_ms for at_ms, _ in merged[1:]] + [until_ms]
    for (from_ms, borrowed), to_ms in zip(merged, ends, strict=True):
        _add_segment(rows, lease, "billable", from_ms, min(to_ms, until_ms), borrowed=borrowed)
    if attempt.end_ms is not None and attempt.notice_ms is not None:
        _add_segment(rows, lease, "grace", attempt.notice_ms, attempt.end_ms, borrowed=flags[-1][1])


def _add_segment(rows: _Rows, lease: Lease, kind: str, from_ms: int, to_ms: int, *, borrowed: bool) -> None:
    if from_ms >= to_ms:
        return
    rows.add(
        LeaseSegment,
        lease_id=lease.pk,
        card_id=lease.card_id,
        kind=kind,
        during=TimestamptzRange(rows.at(from_ms), rows.at(to_ms), "[)"),
        quantity=lease.quantity,
        borrowed=borrowed,
    )


def _add_loan(rows: _Rows, run: Run, queue: Queue, attempt: Attempt, opened_ms: int, loan: Any) -> None:
    """A later loan of the same run and flavor replaces the earlier; an open one has been renewed past the present."""
    later = [at_ms for at_ms, other in attempt.loans if at_ms > opened_ms and other.flavor == loan.flavor]
    ended_ms = min(later, default=attempt.end_ms)
    row = rows.add(
        Loan,
        run_id=run.pk,
        queue_id=queue.pk,
        flavor_id=rows.known.flavors[str(loan.flavor)].pk,
        amount_m=loan.amount_m,
        opened_at=rows.at(opened_ms),
        expires_at=rows.at(loan.expires_ms),
        ended_at=None if ended_ms is None else rows.at(ended_ms),
        why="" if ended_ms is None else "returned",
    )
    for kind, name, amount_m in loan.sides:
        rows.add(LoanSide, loan_id=row.pk, amount_m=amount_m, **{f"{kind}_id": _side(rows.known, kind, str(name))})


def _side(known: _Known, kind: str, name: str) -> int:
    """The lender's row: queues are named `tenant/queue` in files."""
    if kind == "queue":
        tenant, _, queue = name.partition("/")
        return int(known.queues[tenant, queue].pk)
    return int((known.tenants if kind == "tenant" else known.cohorts)[name].pk)
