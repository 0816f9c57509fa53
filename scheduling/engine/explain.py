"""The waits of a plan: each waiting job's reason, its place in line, and what it has been promised."""

from typing import Final

from scheduling.engine.decide import Decider
from scheduling.engine.next_turn import NextTurn
from scheduling.engine.placement import nodes_of
from scheduling.engine.plan import Holder, Wait
from scheduling.engine.position import Places
from scheduling.engine.snapshot import Id
from scheduling.engine.state import State
from scheduling.engine.vocabulary import WaitCode
from scheduling.engine.wait import DECLARE_RUNTIME, Reason, ReasonBook

TAKE_TURN: Final = "take-turn"
_ENDED_BY_TURNS: Final = frozenset(
    {WaitCode.QUOTA_BORROW_LIMIT, WaitCode.CARDS_BUSY, WaitCode.FRAGMENTED, WaitCode.TOPOLOGY}
)
_PATIENCE: Final = frozenset({"", "wait", "ask-quota"})
"""What is suggested where nothing smaller would start sooner."""


def explain_waits(state: State, decider: Decider, barred: dict[int, Wait], *, compete: bool = True) -> tuple[Wait, ...]:
    """In the cycle's order, then those who did not compete, by id; without `compete` only the latter and those who can never run."""
    explainer, told = _Explainer(state, decider), decider.waiting
    if not compete:
        told = [job for job in told if decider.contest.class_of(job) in decider.impossible]
    waits = [explainer.tell(job) for job in told]
    return (*waits, *(barred[job] for job in sorted(barred)))


class _Explainer:
    """Told of the waiting jobs one by one, in the cycle's order."""

    def __init__(self, state: State, decider: Decider) -> None:
        self._state, self._decider = state, decider
        self._ids, self._class_of = state.snapshot.pending.ids, decider.contest.class_of
        self._reasons = ReasonBook(state, decider.rules)
        self._places = Places(dict.fromkeys(map(self._class_of, decider.waiting)))
        self._next_turn = NextTurn(state, decider.turns.terms)
        self._before: set[Id] = set()
        """Jobs told of so far."""

    def tell(self, job: int) -> Wait:
        """Why it waits, and its place in line unless it can never run."""
        job_class, reasons, found = self._class_of(job), self._reasons, self._decider.impossible
        if job_class in found:
            wait = self._wait(job, reasons.impossible(found[job_class]), None, None)
        else:
            position, ahead = self._places.enter(job_class)
            if job in self._state.kept:
                wait = self._kept(job, position, ahead)
            else:
                behind = job in self._decider.behind
                reason = reasons.others_first(job_class) if behind else reasons.of(job_class)
                wait = self._wait(job, reason, position, ahead)
        self._before.add(wait.job)
        return wait

    def _wait(self, job: int, reason: Reason, position: int | None, ahead: int | None) -> Wait:
        head = self._decider.head_of.get(job)
        suggestion, hint = self._advice(job, reason)
        return Wait(
            job=self._ids[job], code=reason.code, need=reason.need, have=reason.have, short=reason.short,
            holders=self._holders(job, reason), suggestion=suggestion, hint=hint, position=position,
            cards_ahead_m=ahead, reserved_start_ms=head.at_ms if head else None, detail=reason.detail,
        )  # fmt: skip

    def _advice(self, job: int, reason: Reason) -> tuple[str, dict[str, int]]:
        """Where a turn will come by itself nothing else has to be done. A run that ends before the job's own reserved place would
        pass nobody."""
        if reason.code in _ENDED_BY_TURNS and reason.suggestion in _PATIENCE and not reason.detail:
            turn_ms = self._next_turn.earliest_ms(job, self._class_of(job))
            if turn_ms is not None:
                return TAKE_TURN, {"before": turn_ms}
        if reason.suggestion != DECLARE_RUNTIME or job not in self._decider.head_of:
            return reason.suggestion, reason.hint
        first_ms = self._reasons.first_start_ms(self._class_of(job), job)
        return ("", {}) if first_ms is None else (DECLARE_RUNTIME, {"before": first_ms})

    def _holders(self, job: int, reason: Reason) -> tuple[Holder, ...]:
        """Of the places reserved for others it waits for those of the jobs before it, not for its own or for later ones."""
        if reason.promised_to <= self._before:
            return reason.holders
        earlier = tuple(holder for holder in reason.holders if holder.job in self._before)
        return earlier or tuple(holder for holder in reason.holders if holder.job != self._ids[job])

    def _kept(self, job: int, position: int, ahead: int) -> Wait:
        """It starts when those who leave have left; its place is kept."""
        kept = self._state.kept[job]
        ids = self._state.snapshot.nodes.ids
        return Wait(
            job=self._ids[job], code=WaitCode.KEPT_FOR_PREEMPTED, need=self._reasons.whole_ask(kept.job_class),
            position=position, cards_ahead_m=ahead, reserved_start_ms=kept.from_ms,
            kept=tuple(ids[node] for node in nodes_of(kept.placed)),
        )  # fmt: skip
