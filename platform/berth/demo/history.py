"""Turns the lived past into rows, as the loop would have written them: jobs, runs, pods, leases, segments, transitions, loans.

What was still running when the past ends stays an admitted run with open leases: the loop takes it from there.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import transaction

from berth.common import clock, units
from berth.demo.copying import copy_rows
from berth.demo.holds import add_loan, add_pods, exit_code_of
from berth.demo.past import Attempt, PastJob
from berth.demo.workload import Ask
from berth.demo.written import Known, Rows
from scheduling.cluster.names import SIM_DURATION, SIM_OUTCOME, SIM_UTILISATION
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
    SplitChange,
    Transition,
)
from scheduling.selectors.asked_cards import unit_of
from scheduling.services.judging import judge
from scheduling.services.queue_use import recount
from scheduling.services.resolved import shape_key
from tenants.models import Cohort, Flavor, Queue, Tenant, User
from tenants.permissions import Action

ROLE: Final = "worker"
IMAGE: Final = "registry.example/train:2026.10"
ENDED: Final = ("succeeded", "failed", "cancelled")


def load_history(jobs: list[PastJob], *, since: datetime) -> int:
    """COPY the past into an organisation without jobs. Returns the number of jobs. All or nothing."""
    rows = Rows(_known(), since.astimezone(UTC))
    for job in jobs:
        _add_job(rows, job)
    order = (
        Job, Role, RoleFlavor, Run, Pod, Lease, SplitChange, LeaseSegment, Preemption, Loan, LoanSide, Transition,
    )  # fmt: skip
    with transaction.atomic():
        for model in order:
            copy_rows(model, rows.rows[model])
        recount(now=clock.now())
    return len(jobs)


def body_of(ask: Ask) -> dict[str, Any]:
    """The ask as a body of `POST /jobs`."""
    cards = ask.cards if isinstance(ask.cards, int) else float(ask.cards)
    resources: dict[str, Any] = {"gpu": cards, "cpu": ask.cpu, "memory": ask.memory_gib}
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


def _known() -> Known:
    return Known(
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


def _shape_of(known: Known, ask: Ask, body: dict[str, Any]) -> str:
    key = (ask.tenant, ask.queue, ask.pods, ask.cards, ask.cpu, ask.memory_gib, ask.flavor, ask.rack)
    if key not in known.shapes:
        judged = judge(known.users[f"{ask.tenant}-member"], body, Action.JOB_SUBMIT)
        known.shapes[key] = shape_key(judged.raise_if_refused().shape, judged.config)
    return known.shapes[key]


def _add_job(rows: Rows, past: PastJob) -> None:
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


def _add_role(rows: Rows, job: Job, ask: Ask) -> None:
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
    rows: Rows, job: Job, at: datetime, old: str, new: str, reason: str, *, run: Run | None = None, actor: str = ""
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


def _add_attempt(rows: Rows, job: Job, queue: Queue, number: int, attempt: Attempt, ask: Ask) -> None:
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
        exit_code=exit_code_of(reason) if over else None,
        last_sign_at=end,
        slowdown_ppm=attempt.slowdown_ppm,
        levels_crossed=",".join(attempt.levels_crossed),
        resumes=number > 1,
    )
    _moved(rows, job, start, "queued", "starting", "admitted")
    if over:
        _moved(rows, job, start, "starting", "running", "started")
        _end_attempt(rows, job, run, attempt, ask, reason)
    add_pods(rows, run, attempt, reason)
    for opened_ms, loan in attempt.loans:
        add_loan(rows, run, queue, attempt, opened_ms, loan)


def _end_attempt(rows: Rows, job: Job, run: Run, attempt: Attempt, ask: Ask, reason: str) -> None:
    assert attempt.end_ms is not None  # noqa: S101 - the caller's case
    end = rows.at(attempt.end_ms)
    if attempt.notice_ms is None:
        new = "succeeded" if reason == "succeeded" else "failed"
        _moved(rows, job, end, "running", new, reason)
        return
    notice = rows.at(attempt.notice_ms)
    grace = timedelta(seconds=30 if job.tier == "batch" else 300)
    cards_m = sum(placement.cards_m for placement in attempt.placements)
    held_units = cards_m * unit_of(rows.known.flavors[ask.flavor].mig_profile if ask.flavor else None) // units.MILLI
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
        lost_card_s=held_units * since_checkpoint // units.UNITS_PER_CARD,
    )
    _moved(rows, job, notice, "running", "stopping", attempt.preempt_reason)
    _moved(rows, job, end, "stopping", "queued", "preempted")
