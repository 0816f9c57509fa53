"""SCH-17: freed cards are kept for the job they were freed for, from cycle to cycle, until it starts.

The reservation in the snapshot names the place pod by pod (or its nodes alone, where a file wrote it). At the beginning of a cycle every kept job gets its place back in the picture of
*after*, and starts if those who stood in its way have left. A promise that cannot be honoured any more (a node failed, quota was
lowered) is released, and the job competes like any other.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from scheduling.engine.asks import Option
from scheduling.engine.classes import ClassBook, JobClass
from scheduling.engine.fit import Fit, Verdict, commit_start, end_of, find_start, within_pool_share
from scheduling.engine.placement import Placed, cards_on, nodes_of, place_gang
from scheduling.engine.plan import Release, Reserve
from scheduling.engine.quota import Amount
from scheduling.engine.seats import option_of, seats_of, sit_again
from scheduling.engine.snapshot import Reservation
from scheduling.engine.state import Kept, State
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import ReservationKind

GONE, CANNOT_BE_KEPT, MOVED, REPLACED, STARTED = "gone", "cannot-be-kept", "moved", "replaced", "started"
"""Why a reservation is released."""


class Promises:
    """Kept places carried over from earlier cycles, and what the plan says about them."""

    def __init__(self, state: State, rules: TierRules, classes: ClassBook) -> None:
        self._state, self._rules, self._classes = state, rules, classes
        self._carried: dict[int, Reservation] = {}
        self.releases: list[Release] = []

    def honour(self, eligible: Sequence[int]) -> set[int]:
        """Give kept jobs their places back and start those whose cards are free; the jobs that started."""
        snapshot = self._state.snapshot
        competing = {snapshot.pending.ids[job]: job for job in eligible}
        for reservation in snapshot.reservations:
            if reservation.kind == ReservationKind.KEPT_FOR_JOB:
                job = competing.get(reservation.job) if reservation.job is not None else None
                if job is None or job in self._carried or not self._keep_again(job, reservation):
                    self.releases.append(Release(reservation.id, GONE if job is None else CANNOT_BE_KEPT))
                else:
                    self._carried[job] = reservation
        return {job for job in list(self._carried) if self._start(job)}

    def _keep_again(self, job: int, reservation: Reservation) -> bool:
        """On the seats it had: another place or size could be what a later reservation is for. Where they are no use any more,
        on its nodes, then on whatever will be free."""
        job_class, after = self._class_of(job), self._state.after
        sizes = [option for options in job_class.sizes for option in options]
        same = option_of(sizes, reservation.pods, after)
        if same is not None and self._allows(job_class, same):
            placed = sit_again(after, same, reservation.pods)
            if placed is not None:
                self._state.keep(self._kept(job, job_class, placed, same.amounts))
                return True
        for options, only in product(job_class.sizes, (frozenset(reservation.nodes), None)):
            for option in options:
                if self._allows(job_class, option):
                    placed = place_gang(after, option.gang, job_class.shape, pool=job_class.pool, only=only)
                    if placed is not None:
                        self._state.keep(self._kept(job, job_class, placed, option.amounts))
                        return True
        return False

    def _allows(self, job_class: JobClass, option: Option) -> bool:
        use = self._state.quota_after
        if self._rules.standing(use, job_class, option.amounts) == Standing.BARRED:
            return False
        return use.allows(job_class.leaf, option.amounts) and within_pool_share(self._state, job_class, option)

    def _kept(self, job: int, job_class: JobClass, placed: Placed, amounts: tuple[Amount, ...]) -> Kept:
        return Kept(job, job_class, placed, amounts, self._state.freed_ms(placed))

    def _start(self, job: int) -> bool:
        state = self._state
        kept = state.forget(job)
        ends_ms = end_of(int(state.snapshot.pending.limit_ms[job]), state.now_ms)
        for fit in self._ways(kept, ends_ms):
            if fit.verdict == Verdict.FITS:
                commit_start(state, self._rules, job, kept.job_class, fit, ends_ms)
                self.releases.append(Release(self._carried.pop(job).id, STARTED))
                return True
        state.keep(kept)
        return False

    def _ways(self, kept: Kept, ends_ms: int) -> Iterator[Fit]:
        """Where it may start now: the largest size first, on its own nodes before others, at last on its very seats."""
        state, rules, job_class = self._state, self._rules, kept.job_class
        for options, only in product(job_class.sizes, (frozenset(nodes_of(kept.placed)), None)):
            yield find_start(state, rules, job_class, ends_ms, only=only, options=options)
        seats = seats_of(kept.placed)
        same = option_of([option for options in job_class.sizes for option in options], seats, state.usable)
        if same is not None:
            yield find_start(state, rules, job_class, ends_ms, options=(same,), seats=seats)

    def _class_of(self, job: int) -> JobClass:
        return self._classes.of_pending(job, self._state.now_ms)

    def reserves(self) -> list[Reserve]:
        """New promises, and carried ones that moved to other nodes (the old one is released)."""
        reserves = []
        for job, kept in self._state.kept.items():
            carried = self._carried.get(job)
            if carried is not None and _is_same(carried, kept.placed):
                continue
            if carried is not None:
                self.releases.append(Release(carried.id, MOVED))
            reserves.append(
                print_reserve(
                    self._state, ReservationKind.KEPT_FOR_JOB, job, kept.placed, kept.amounts, self._state.now_ms, NEVER
                )
            )
        return reserves


def _is_same(carried: Reservation, placed: Placed) -> bool:
    """A reservation that names no pods is as good as its nodes; a card that shares opened may have got its index since."""
    if carried.pods:
        return tuple(sorted(carried.pods)) == seats_of(placed)
    return tuple(sorted(carried.nodes)) == nodes_of(placed)


def print_reserve(
    state: State, kind: ReservationKind, job: int, placed: Placed, amounts: Sequence[Amount], from_ms: int, to_ms: int
) -> Reserve:
    """A reservation by ids: nodes in index order, milli-cards per node, charges by column name."""
    snapshot = state.snapshot
    columns = snapshot.columns
    return Reserve(
        kind=kind, job=snapshot.pending.ids[job], from_ms=from_ms, to_ms=to_ms,
        nodes=tuple(snapshot.nodes.ids[node] for node in nodes_of(placed)),
        cards=tuple((snapshot.nodes.ids[node], cards_m) for node, cards_m in cards_on(placed).items()),
        pods=tuple((role, snapshot.nodes.ids[node], card, pods) for role, node, card, pods in seats_of(placed)),
        amounts={_key(columns[column]): amount for column, amount in amounts},
    )  # fmt: skip


def _key(column: str) -> str:
    return f"{column}_gib" if column in {"memory", "vram"} else column


def print_backfill(
    state: State, heads: Sequence[tuple[int, Placed, Sequence[Amount], int]]
) -> tuple[list[Reserve], list[Release]]:
    """Reservations of this cycle's heads. Those of the last cycle are replaced, unless they say the same."""
    snapshot = state.snapshot
    limits = snapshot.pending.limit_ms
    old = {
        (row.job, row.from_ms, tuple(snapshot.nodes.ids[node] for node in row.nodes)): row
        for row in snapshot.reservations
        if row.kind == ReservationKind.BACKFILL
    }
    new = []
    for job, placed, amounts, at_ms in heads:
        length = int(limits[job])
        to_ms = NEVER if length >= NEVER else at_ms + length
        reserve = print_reserve(state, ReservationKind.BACKFILL, job, placed, amounts, at_ms, to_ms)
        if old.pop((reserve.job, reserve.from_ms, reserve.nodes), None) is None:
            new.append(reserve)
    return new, [Release(row.id, REPLACED) for row in old.values()]
