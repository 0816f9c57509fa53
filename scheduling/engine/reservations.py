"""SCH-18: cards kept by hand or by forecast for a queue or a tier, and a pool's fraction for `priority` tenants.

Other tenants' batch is not started on what is still unused of a reservation while its window lasts. A pool's fraction keeps out,
beside batch, whoever would borrow; work inside nominal that is not batch is its tenant's due and may take it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scheduling.engine.asks import Option, PodAsk
from scheduling.engine.classes import JobClass
from scheduling.engine.free import Free, Leftover
from scheduling.engine.plan import Holder, Release
from scheduling.engine.policy import Policy
from scheduling.engine.quota import Amount
from scheduling.engine.snapshot import Reservation, Snapshot
from scheduling.engine.state import State
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.units import ONE_PPM
from scheduling.engine.vocabulary import ReservationKind, Tier

UNUSED = "unused"
"""Why a forecast reservation is let go: nobody it was made for has started in time."""
NOTHING: Free = (0, 0, 0, 0)
KINDS = frozenset({ReservationKind.MANUAL, ReservationKind.FORECAST})


@dataclass(frozen=True, slots=True)
class Window:
    """A reservation whose window is open; `used_m` is what its own have taken of it before this cycle."""

    reservation: Reservation
    used_m: int


def is_for(reservation: Reservation, queue: int, tier: int) -> bool:
    """Whether the reservation was made for jobs of the queue (-1 = none that is known) and tier."""
    named = reservation.queue < 0 or reservation.queue == queue
    return queue >= 0 and named and reservation.tier in (-1, tier)


def keeps_out(snapshot: Snapshot, reservation: Reservation, queue: int, tier: int) -> bool:
    """Other tenants' batch; where a tier is reserved for and no queue, everybody's batch but that tier's own."""
    if tier != Tier.BATCH or is_for(reservation, queue, tier):
        return False
    return reservation.queue < 0 or snapshot.queues[reservation.queue].tenant != snapshot.queues[queue].tenant


def open_windows(snapshot: Snapshot, policy: Policy, now_ms: int) -> tuple[list[Window], list[Release]]:
    """Reservations that hold now, and forecast ones that go because nobody used them in time."""
    windows, releases = [], []
    for reservation in snapshot.reservations:
        if reservation.kind not in KINDS or not reservation.from_ms <= now_ms < reservation.to_ms:
            continue
        window = Window(reservation, _used_m(snapshot, reservation))
        if (
            reservation.kind == ReservationKind.FORECAST
            and not window.used_m
            and now_ms >= reservation.from_ms + policy.forecast_release_ms
        ):
            releases.append(Release(reservation.id, UNUSED))
        else:
            windows.append(window)
    return windows, releases


def _used_m(snapshot: Snapshot, reservation: Reservation) -> int:
    """Milli-cards of its flavor (or nodes) that runs it was made for took since it began."""
    running, pods = snapshot.running, snapshot.pods
    own = {
        run
        for run in range(len(running))
        if int(running.start_ms[run]) >= reservation.from_ms
        and is_for(reservation, int(running.queue[run]), int(running.tier[run]))
    }
    nodes = frozenset(reservation.nodes)
    return sum(
        int(pods.cards_m[row])
        for row in range(len(pods.node))
        if int(pods.run[row]) in own
        and (int(pods.flavor[row]) == reservation.flavor if reservation.flavor >= 0 else int(pods.node[row]) in nodes)
    )


class KeptAside:
    """What is kept in this cycle: asked of every start, against what is free at that moment."""

    def __init__(self, state: State, rules: TierRules, windows: list[Window]) -> None:
        self._state, self._rules, self._windows = state, rules, windows
        self._fractions = {
            index: state.table.pool_cards_m[index] * pool.priority_share_ppm // ONE_PPM
            for index, pool in enumerate(state.snapshot.pools)
            if pool.priority_share_ppm
        }

    @property
    def is_empty(self) -> bool:
        return not self._windows and not self._fractions

    def allows(self, job_class: JobClass, gang: Sequence[PodAsk], amounts: Sequence[Amount]) -> bool:
        """Whether the start leaves what is kept of its flavors; nodes that are kept whole see `limits`."""
        return all(left_m >= amount for amount, left_m in self._rooms(job_class, gang, amounts))

    def limits(self, job_class: JobClass) -> list[Leftover]:
        """Nodes that are kept whole from jobs of the class."""
        nodes = Leftover((node, NOTHING) for window in self._barring(job_class) for node in window.reservation.nodes)
        return [nodes] if nodes else []

    def short(self, job_class: JobClass, option: Option) -> tuple[int, int] | None:
        """(asked, left) in milli-cards where it does not; None where it does."""
        rooms = self._rooms(job_class, option.gang, option.amounts)
        return next(((amount, left_m) for amount, left_m in rooms if left_m < amount), None)

    def holders(self, job_class: JobClass, option: Option) -> tuple[Holder, ...]:
        """For whom the cards are kept that the class may not take; nobody in particular for a pool's fraction or a tier's."""
        flavors = {ask.flavor for ask in option.gang}
        found = []
        for window in self._barring(job_class):
            row = window.reservation
            if row.queue >= 0 and (row.flavor in flavors or row.nodes):
                queue = self._state.snapshot.queues[row.queue]
                amounts = {"gpu": self._unused_m(window)} if row.flavor >= 0 else {"nodes": len(row.nodes)}
                found.append(Holder(queue.tenant, queue.name, None, amounts, until_ms=row.to_ms))
        return tuple(found)

    def _rooms(
        self, job_class: JobClass, gang: Sequence[PodAsk], amounts: Sequence[Amount]
    ) -> Iterator[tuple[int, int]]:
        """(asked, left beside what is kept) in milli-cards, wherever something is kept from the class."""
        barring = self._barring(job_class)
        asked: dict[int, int] = {}
        for ask in gang:
            if ask.flavor >= 0:
                asked[ask.flavor] = asked.get(ask.flavor, 0) + ask.cards_m * ask.count
        for flavor, amount in sorted(asked.items()):
            kept_m = sum(self._unused_m(window) for window in barring if window.reservation.flavor == flavor)
            if kept_m:
                yield amount, self._free_m(job_class.pool, flavor) - kept_m
        fraction_m = self._fraction_m(job_class, amounts)
        if fraction_m and asked:
            yield sum(asked.values()), self._free_m(job_class.pool, -1) - fraction_m

    def _barring(self, job_class: JobClass) -> list[Window]:
        snapshot = self._state.snapshot
        return [
            window
            for window in self._windows
            if keeps_out(snapshot, window.reservation, job_class.queue, job_class.tier)
        ]

    def _unused_m(self, window: Window) -> int:
        """What its own have not taken yet, starts of this cycle counted."""
        row = window.reservation
        taken_m = window.used_m
        for started in self._state.started:
            if is_for(row, started.job_class.queue, started.job_class.tier):
                taken_m += dict(started.amounts).get(row.flavor, 0)
        return max(0, row.amount_m - taken_m)

    def _fraction_m(self, job_class: JobClass, amounts: Sequence[Amount]) -> int:
        """What is left to keep of the pool's fraction from jobs of the class."""
        state, snapshot = self._state, self._state.snapshot
        kept_m = self._fractions.get(job_class.pool, 0)
        if not kept_m or snapshot.queues[job_class.queue].priority_tenant:
            return 0
        if job_class.tier != Tier.BATCH and self._rules.standing(state.quota_after, job_class, amounts) == Standing.OWN:
            return 0
        own = [queue for queue in snapshot.queues if queue.priority_tenant and queue.pool == job_class.pool]
        held_m = sum(sum(state.quota_after.row(queue.node)[: len(snapshot.flavors)]) for queue in own)
        return max(0, kept_m - held_m)

    def _free_m(self, pool: int, flavor: int) -> int:
        """Idle cards on nodes that take starts, of one flavor or (-1) of the whole pool."""
        state, table = self._state, self._state.table
        return sum(
            max(0, cards_m)
            for node, cards_m in enumerate(state.usable.cards)
            if table.open[node] and table.pool[node] == pool and flavor in (-1, table.flavor[node])
        )


def keep_aside(state: State, rules: TierRules) -> list[Release]:
    """From here on in the cycle starts respect what is kept; returns what is let go."""
    windows, releases = open_windows(state.snapshot, state.policy, state.now_ms)
    aside = KeptAside(state, rules, windows)
    state.kept_aside = None if aside.is_empty else aside
    return releases


def beside_kept(state: State, job_class: JobClass, gang: Sequence[PodAsk], amounts: Sequence[Amount]) -> bool:
    """Whether pods of the class may start with what is free beside what is kept from them."""
    return state.kept_aside is None or state.kept_aside.allows(job_class, gang, amounts)
