"""Runs and pods as answers show them."""

from typing import Any

from berth.common.bodies import number
from berth.common.units import from_ppm
from scheduling.api.amounts import cards, gib
from scheduling.models import Lease, Loan, Pod
from scheduling.selectors.run_facts import RunFacts
from scheduling.selectors.run_sizes import RunSize


def run_document(facts: RunFacts) -> dict[str, Any]:
    run = facts.run
    return {
        "id": run.pk,
        "number": run.number,
        "state": run.state,
        "cluster": run.cluster.name,
        "admitted_at": run.admitted_at,
        "started_at": run.started_at,
        "stopping_at": run.stopping_at,
        "grace_until": run.grace_until,
        "ended_at": run.ended_at,
        "end_reason": run.end_reason or None,
        "end_message": run.end_message,
        "exit_code": run.exit_code,
        "cards": cards(facts.cards_m),
        "borrowed": cards(facts.borrowed_m),
        "flavors": list(facts.flavors),
        "nodes": list(facts.nodes),
        "levels_crossed": run.levels_crossed.split(",") if run.levels_crossed else [],
        "slowdown_pct": number(from_ppm(run.slowdown_ppm) * 100),
        "loans": [_loan(loan) for loan in facts.loans],
        "size": None if facts.size is None else _size(facts.size),
        "preemption": None
        if facts.preemption is None
        else {
            "reason": facts.preemption.reason,
            "notice_at": facts.preemption.notice_at,
            "grace_until": facts.preemption.grace_until,
            "outcome": facts.preemption.outcome,
            "left_at": facts.preemption.left_at,
        },
        "progress": None if run.progress_ppm is None else number(from_ppm(run.progress_ppm)),
        "step": run.step,
        "loss": run.loss,
        "peak_vram_gib": None if run.peak_vram_mib is None else gib(run.peak_vram_mib),
        "checkpoint": None
        if not run.checkpoint_state
        else {"state": run.checkpoint_state, "path": run.checkpoint_path, "at": run.checkpoint_at},
    }


def _size(size: RunSize) -> dict[str, Any]:
    return {
        "role": size.role,
        "pods": size.pods,
        "min_replicas": size.minimum,
        "replicas": size.replicas,
        "wanted": size.wanted,
        "why": size.why or None,
        "since": size.since,
    }


def _loan(loan: Loan) -> dict[str, Any]:
    """Lenders of a loan are the borrower's own cohort by nature (SCH-03), so they are named."""
    return {
        "flavor": loan.flavor.name,
        "amount": cards(loan.amount_m),
        "opened_at": loan.opened_at,
        "expires_at": loan.expires_at,
        "renewals": loan.renewals,
        "ended_at": loan.ended_at,
        "why": loan.why or None,
        "lenders": [{"name": _lender(side), "amount": cards(side.amount_m)} for side in loan.sides.all()],
    }


def _lender(side: Any) -> str:
    if side.queue is not None:
        return f"{side.queue.tenant.slug}/{side.queue.name}"
    return str(side.tenant.slug if side.tenant is not None else side.cohort.name)


def pod_document(pod: Pod, leases: list[Lease]) -> dict[str, Any]:
    return {
        "run": pod.run.number,
        "role": pod.role_name,
        "index": pod.index,
        "rank": pod.rank if pod.in_gang else None,
        "name": pod.name,
        "uid": pod.uid or None,
        "node": pod.node.name,
        "cards": [lease.card.index for lease in leases if lease.card is not None],
        "phase": pod.phase,
        "created_at": pod.created_at,
        "started_at": pod.started_at,
        "finished_at": pod.finished_at,
        "exit_code": pod.exit_code,
        "reason": pod.reason,
        "message": pod.message,
        "joined_at": pod.joined_at,
        "released_at": pod.released_at,
        "release_reason": pod.release_reason or None,
    }
