"""The waits of a plan: each waiting job's reason, its place in line, and what it has been promised."""

from collections.abc import Set

from scheduling.engine.decide import Decider
from scheduling.engine.placement import nodes_of
from scheduling.engine.plan import Wait
from scheduling.engine.position import Places
from scheduling.engine.snapshot import Id
from scheduling.engine.state import State
from scheduling.engine.vocabulary import WaitCode
from scheduling.engine.wait import Reason, ReasonBook


def explain_waits(state: State, decider: Decider, barred: dict[int, Wait]) -> tuple[Wait, ...]:
    """In the cycle's order, then those who did not compete, by id."""
    reasons = ReasonBook(state, decider.rules)
    places = Places(dict.fromkeys(map(decider.contest.class_of, decider.waiting)))
    ids, ahead, waits = state.snapshot.pending.ids, set[Id](), []
    for job in decider.waiting:
        waits.append(_explain(state, decider, reasons, places, job, ahead))
        ahead.add(ids[job])
    return (*waits, *(barred[job] for job in sorted(barred)))


def _explain(
    state: State, decider: Decider, reasons: ReasonBook, places: Places, job: int, ahead_of_it: Set[Id]
) -> Wait:
    job_class = decider.contest.class_of(job)
    ids = state.snapshot.pending.ids
    if job_class in decider.impossible:
        reason = reasons.impossible(decider.impossible[job_class])
        return _wait(ids[job], reason)
    position, ahead = places.enter(job_class)
    if job in state.kept:
        return _kept(state, reasons, job, position, ahead)
    reason = (
        Reason(WaitCode.FAIR_SHARE, need=reasons.whole_ask(job_class), suggestion="wait")
        if job in decider.behind
        else reasons.of(job_class)
    )
    head = decider.head_of.get(job)
    return _wait(
        ids[job],
        reason,
        position=position,
        ahead=ahead,
        start_ms=head.at_ms if head else None,
        before=ahead_of_it if reason.code == WaitCode.RESERVED else None,
    )


def _wait(
    job: int | str,
    reason: Reason,
    *,
    position: int | None = None,
    ahead: int | None = None,
    start_ms: int | None = None,
    before: Set[Id] | None = None,
) -> Wait:
    """`before`: of the places reserved for others it waits for those of the jobs before it, not for its own or for later ones."""
    others = reason.holders
    if before is not None and not reason.promised_to <= before:
        others = tuple(each for each in others if each.job in before) or tuple(e for e in others if e.job != job)
    return Wait(
        job=job, code=reason.code, need=reason.need, have=reason.have, short=reason.short, holders=others,
        suggestion=reason.suggestion, hint=reason.hint, position=position, cards_ahead_m=ahead,
        reserved_start_ms=start_ms, detail=reason.detail,
    )  # fmt: skip


def _kept(state: State, reasons: ReasonBook, job: int, position: int, ahead: int) -> Wait:
    """It starts when those who leave have left; its place is kept."""
    kept = state.kept[job]
    nodes = nodes_of(kept.placed)
    return Wait(
        job=state.snapshot.pending.ids[job], code=WaitCode.KEPT_FOR_PREEMPTED, need=reasons.whole_ask(kept.job_class),
        position=position, cards_ahead_m=ahead, reserved_start_ms=kept.from_ms,
        kept=tuple(state.snapshot.nodes.ids[node] for node in nodes),
    )  # fmt: skip
