"""SCH-21: why a class of jobs waits, with numbers. One code by the contract's order, need, have and short of what is lacking.

A reason is worked out once per (queue, shape, tier) at the end of the cycle and shared by all its jobs. Of several flavor choices
the one that came nearest to a start speaks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scheduling.engine.asks import NOBODY, Option
from scheduling.engine.card_modes import find_mismatch
from scheduling.engine.classes import JobClass
from scheduling.engine.fit import pool_share_room
from scheduling.engine.free import Limits
from scheduling.engine.holders import HolderBook
from scheduling.engine.holds import total_ask
from scheduling.engine.idle import CARDS, CPU, MEMORY, IdleBook
from scheduling.engine.impossible import Impossible, keys_of
from scheduling.engine.parts import find_lack, only_share
from scheduling.engine.placement import place_gang
from scheduling.engine.plan import Holder
from scheduling.engine.quota import EVERYBODY
from scheduling.engine.reserved import PromisedBook
from scheduling.engine.snapshot import Id, Shape
from scheduling.engine.state import State
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.units import CARD, NEVER, ONE_PPM
from scheduling.engine.vocabulary import WaitCode
from scheduling.engine.watermark import may_start, room_m

IDLE_CARDS = "idle-cards"
"""Detail of a production job that waits beside cards it could use: it would need quota, not cards (SCH-01)."""

IDLE_PENALTY = "idle-penalty"
"""Detail of a job that could borrow if its queue had used better what it held (SCH-06)."""

WATERMARK = "watermark"
"""Detail of over-committed work that waits because its pool was just relieved (SCH-15)."""

RESERVATION, PRIORITY_SHARE = "reservation", "priority-share"
"""Details of a job that waits for cards kept by hand or by forecast, and for those a pool keeps for `priority` tenants (SCH-18)."""

NODES_CLOSED, BESIDE_CARDS = "nodes-closed", "beside-cards"
"""Details of a job that open nodes could not hold even if they were empty, and of one for which idle cards' CPU and memory are kept (SCH-02)."""

DECLARE_RUNTIME = "declare-runtime"
"""Suggestion to a job that could pass a reserved place if it were known to end in time."""

MAX_POOL_SHARE = "max-pool-share"
"""Detail of a job that has to wait for others of its own queue to end."""


@dataclass(slots=True)
class Reason:
    """Amounts by resource key in engine units (milli-cards, millicores, MiB, nodes); a hint may hold `before`, an instant in ms."""

    code: WaitCode
    need: dict[str, int] = field(default_factory=dict)
    have: dict[str, int] = field(default_factory=dict)
    short: dict[str, int] = field(default_factory=dict)
    holders: tuple[Holder, ...] = ()
    promised_to: frozenset[Id | None] = frozenset()
    """Waiting jobs among the holders: those whose places are reserved."""
    suggestion: str = ""
    hint: dict[str, int] = field(default_factory=dict)
    detail: str = ""

    def lacks(self, key: str, need: int, have: int) -> None:
        self.need[key], self.have[key] = need, max(0, have)
        if need > max(0, have):
            self.short[key] = need - max(0, have)


def _most_specific(amounts: Mapping[str, int]) -> dict[str, int]:
    """Without the total of cards where a flavor is named."""
    named = any(key.startswith("gpu:") for key in amounts)
    return {key: value for key, value in amounts.items() if key != "gpu" or not named}


Shared = tuple[int, int, tuple[int, ...], int]

_ORDER = {code: place for place, code in enumerate(WaitCode)}


class ReasonBook:
    """Reasons of one finished cycle, one per class."""

    def __init__(self, state: State, rules: TierRules) -> None:
        self._state, self._rules = state, rules
        self._idle = IdleBook(state)
        self._holders = HolderBook(state, self._idle)
        self._promised = PromisedBook(state, rules, self._idle)
        self._reasons: dict[JobClass, Reason] = {}
        self._asks: dict[int, dict[str, int]] = {}
        self._on_nodes: dict[Shared, Reason | None] = {}
        self._kept: dict[Shared, bool] = {}

    def of(self, job_class: JobClass) -> Reason:
        found = self._reasons.get(job_class)
        if found is None:
            nearest = max(
                (self._of_option(job_class, option) for option in job_class.smallest),
                key=lambda reason: (reason.detail != NODES_CLOSED, _ORDER[reason.code]),
            )
            found = self._reasons[job_class] = nearest
        return found

    def whole_ask(self, job_class: JobClass) -> dict[str, int]:
        """What all roles of the class ask for together."""
        found = self._asks.get(job_class.shape_index)
        if found is None:
            found = self._asks[job_class.shape_index] = total_ask(job_class.shape)
        return found

    def first_start_ms(self, job_class: JobClass, but: int) -> int | None:
        """When the first place is taken that is reserved for anybody but this job."""
        return self._promised.first_start_ms(job_class, but)

    def others_first(self, job_class: JobClass) -> Reason:
        """Nothing is lacking: its turn has not come."""
        return Reason(WaitCode.FAIR_SHARE, need=self.whole_ask(job_class), suggestion="wait")

    def impossible(self, found: Impossible) -> Reason:
        """Against configured capacity and limits, and by how much."""
        reason = Reason(WaitCode.IMPOSSIBLE, detail=found.detail)
        for key, need, have in found.lacks:
            reason.lacks(key, need, have)
        if any(reason.have.values()):
            reason.suggestion, reason.hint = "resubmit", _most_specific(reason.have)
        else:
            reason.suggestion, reason.hint = "ask-admin", _most_specific(reason.need)
        return reason

    def _of_option(self, job_class: JobClass, option: Option) -> Reason:
        whose = job_class.tenant if any(ask.share is not None for ask in option.gang) else NOBODY
        shared = (job_class.shape_index, job_class.pool, tuple(ask.flavor for ask in option.gang), whose)
        return (
            self._nominal(job_class, option)
            or self._quota(job_class, option, job_class.tier if self._state.policy.preemption else EVERYBODY)
            or self._nodes(job_class, option, shared)
            or self._quota(job_class, option, EVERYBODY)
            or self._held_back(job_class, option)
            or self._kept_aside(job_class, option)
            or self._turn_to_come(job_class, option, shared)
        )

    def _nodes(self, job_class: JobClass, option: Option, shared: Shared) -> Reason | None:
        """What is free lacks the same to every queue: worked out once per shape and pool."""
        if shared not in self._on_nodes:
            parts = self._parts(job_class, option) if only_share(option) else None
            reason = parts or self._busy(job_class, option) or self._scattered(job_class, option)
            if reason is not None and not all(self._idle.has_nodes(job_class.pool, ask) for ask in option.gang):
                reason.detail = NODES_CLOSED
            elif reason is not None and not option.cards_m and self._has_room_beside_cards(job_class, option):
                reason.detail = BESIDE_CARDS
            self._on_nodes[shared] = reason
        return self._on_nodes[shared]

    def _has_room_beside_cards(self, job_class: JobClass, option: Option) -> bool:
        return all(self._idle.has_room_beside_cards(job_class.pool, ask) for ask in option.gang)

    def _lacks_column(self, reason: Reason, column: int, need: int, have: int) -> None:
        for key in keys_of(self._state.snapshot, column):
            reason.lacks(key, need, have)

    def _lacks_quota(self, reason: Reason, column: int, need: int, room: int, more: int) -> None:
        """`more` is what would help: above what is short where room is below 0, after a quota was lowered."""
        self._lacks_column(reason, column, need, room)
        named = _most_specific(dict.fromkeys(keys_of(self._state.snapshot, column), more))
        reason.suggestion, reason.hint = "ask-quota", {**reason.hint, **named}

    def _nominal(self, job_class: JobClass, option: Option) -> Reason | None:
        """Production (and anyone under a policy without borrowing) may use its tenant's nominal only."""
        state = self._state
        if self._rules.standing(state.quota, job_class, option.amounts) != Standing.BARRED:
            return None
        reason = Reason(WaitCode.QUOTA_NOMINAL)
        for column, amount in option.amounts:
            room = self._rules.nominal_room(state.quota, job_class, column)
            if amount > room:
                more = self._rules.more_nominal(state.quota, job_class, column, amount)
                self._lacks_quota(reason, column, amount, room, more)
                reason.holders = reason.holders or self._holders.of_tenant(job_class, column)
        idle = self._idle_cards(option)
        if state.policy.borrowing and option.cards_m and idle >= option.cards_m:
            reason.suggestion, reason.hint, reason.detail = "borrow", {"gpu": option.cards_m}, IDLE_CARDS
        return reason

    def _quota(self, job_class: JobClass, option: Option, level: int) -> Reason | None:
        """A borrowing limit, or nothing left to lend. First as the job's tier sees it: lower tiers would make room (SCH-01)."""
        state, leaf = self._state, job_class.leaf
        rooms = [(column, amount, state.quota.available(leaf, column, level)) for column, amount in option.amounts]
        lacking = [row for row in rooms if row[1] > row[2]]
        share = pool_share_room(state, job_class)
        if not lacking and (share is None or option.cards_m <= max(0, share)):
            return None
        reason = Reason(WaitCode.QUOTA_BORROW_LIMIT)
        for column, amount, room in lacking:
            # Where nobody is evicted, lower tiers make no room either.
            left = room if state.policy.preemption else state.quota.available(leaf, column)
            self._lacks_quota(reason, column, amount, room, amount - left)
            reason.holders = reason.holders or self._holders.of_tree(job_class, column)
        if not reason.short and share is not None and option.cards_m > share:
            reason.lacks("gpu", option.cards_m, share)
            reason.holders, reason.detail = self._holders.of_queue(job_class), MAX_POOL_SHARE
            reason.suggestion, reason.hint = "wait", dict(reason.short)
        if not reason.short:
            return None
        if not reason.detail and self._idle_penalty_bars(leaf, lacking, level):
            reason.detail = IDLE_PENALTY
        return reason

    def _idle_penalty_bars(self, leaf: int, lacking: list[tuple[int, int, int]], level: int) -> bool:
        """True where the queue would have room if it had not left its cards idle (SCH-06)."""
        quota, tree = self._state.quota, self._state.tree
        return tree.nodes[leaf].borrow_scale_ppm < ONE_PPM and all(
            amount <= quota.available(leaf, column, level, tree.descent(leaf, column)) for column, amount, _ in lacking
        )

    def _held_back(self, job_class: JobClass, option: Option) -> Reason | None:
        """SCH-15: nothing over-committed starts while it would lift the pool above its high watermark again."""
        if not self._state.held_back or may_start(self._state, self._rules, job_class, option):
            return None
        reason = Reason(WaitCode.QUOTA_BORROW_LIMIT, suggestion="wait", hint={"gpu": option.cards_m}, detail=WATERMARK)
        reason.lacks("gpu", option.cards_m, room_m(self._state, job_class.pool) or 0)
        return reason

    def _kept_aside(self, job_class: JobClass, option: Option) -> Reason | None:
        """SCH-18: it would fit, if some of what is free were not kept for others."""
        aside = self._state.kept_aside
        if aside is None:
            return None
        short = aside.short(job_class, option)
        holders = aside.holders(job_class, option)
        limits = aside.limits(job_class)
        if short is None and not (limits and holders and self._needs(job_class, option, limits)):
            return None
        reason = Reason(WaitCode.RESERVED, need=self.whole_ask(job_class), holders=holders, suggestion="wait")
        reason.hint, reason.detail = {"gpu": option.cards_m}, RESERVATION if holders else PRIORITY_SHARE
        if short is not None:
            reason.need = {}
            reason.lacks("gpu", *short)
        return reason

    def _needs(self, job_class: JobClass, option: Option, limits: Limits) -> bool:
        """Whether there is no place beside these nodes."""
        state, pool = self._state, job_class.pool
        return place_gang(state.usable, option.gang, job_class.shape, pool=pool, limits=limits) is None

    def _parts(self, job_class: JobClass, option: Option) -> Reason | None:
        """No single card has the part that a share asks for."""
        found = find_lack(self._idle, option)
        if found is None:
            return None
        code, detail, key, need, have = found
        reason = Reason(code, detail=detail, holders=self._holders.on_nodes(job_class, option))
        if key == "gpu":
            self._lacks_column(reason, option.gang[0].flavor, need, have)
        else:
            reason.lacks(key, need, have)
        reason.suggestion, reason.hint = self._other_flavor(job_class, option) or ("wait", {key: need})
        if reason.suggestion == "wait" and have > 0:
            reason.suggestion, reason.hint = ("fewer-cards" if key == "gpu" else "less-cpu"), {key: have}
        return reason

    def _busy(self, job_class: JobClass, option: Option) -> Reason | None:
        """Too little free in total."""
        for code, pick in ((WaitCode.CARDS_BUSY, CARDS), (WaitCode.CPU_BUSY, CPU), (WaitCode.MEMORY_BUSY, MEMORY)):
            reason = Reason(code)
            for flavor in sorted({ask.flavor for ask in option.gang}):
                asks = [ask for ask in option.gang if ask.flavor == flavor]
                need = sum((ask.cards_m, ask.cpu_m, ask.memory_mib)[pick] * ask.count for ask in asks)
                have = self._idle.total(job_class.pool, flavor, pick)
                if pick == CARDS and any(ask.share is not None for ask in asks):
                    have = max(sum(cards_m for cards_m, _ in self._idle.parts(ask)) for ask in asks)
                if need > have:
                    if pick == CARDS:
                        self._lacks_column(reason, flavor, need, have)
                    else:
                        reason.lacks("cpu" if pick == CPU else "memory_gib", need, have)
            if reason.short:
                reason.suggestion, reason.hint = "wait", dict(reason.short)
                if any(reason.have.values()):
                    reason.suggestion, reason.hint = "less-cpu", dict(reason.have)
                if pick == CARDS:
                    self._lacks_nodes(reason, job_class, option, whole_only=True)
                    reason.suggestion, reason.hint = self._fewer_cards(job_class, option)
                reason.holders = self._holders.on_nodes(job_class, option)
                return reason
        return None

    def _fewer_cards(self, job_class: JobClass, option: Option) -> tuple[str, dict[str, int]]:
        """Another flavor of the pool that has enough idle cards, else as many cards as are idle, else patience."""
        other = self._other_flavor(job_class, option)
        if other is not None:
            return other
        fits = self._would_fit(job_class, option)
        return ("fewer-cards", {"gpu": fits}) if fits else ("wait", {"gpu": option.cards_m})

    def _other_flavor(self, job_class: JobClass, option: Option) -> tuple[str, dict[str, int]] | None:
        """A flavor of the pool that the job does not name, that hands out cards as it asks for them, and has enough idle."""
        asked = {ask.flavor for choice in job_class.options for ask in choice.gang}
        roles = [role for role in job_class.shape.roles if role.cards_m]
        for flavor, row in enumerate(self._state.snapshot.flavors):
            if (
                row.pool != job_class.pool
                or flavor in asked
                or any(find_mismatch(row, role.cards_m, role.replicas) for role in roles)
            ):
                continue
            idle, gang = self._idle.total(row.pool, flavor, CARDS), option.gang
            rooms = (self._idle.slots(row.pool, replace(ask, flavor=flavor))[0] >= ask.count for ask in gang)
            if idle >= option.cards_m and all(rooms):
                return "other-flavor", {f"gpu:{row.name}": idle}
        return None

    def _would_fit(self, job_class: JobClass, option: Option) -> int:
        """Milli-cards of the most pods of the largest role that would find room now, or of one smaller pod."""
        ask = max(option.gang, key=lambda each: each.cards_m)
        now, _ = self._idle.slots(job_class.pool, ask)
        if now:
            return min(now, ask.count) * ask.cards_m
        return self._idle.largest(job_class.pool, ask.flavor) // CARD * CARD

    def _scattered(self, job_class: JobClass, option: Option) -> Reason | None:
        """Enough in total, but not on single nodes, or not in one domain."""
        state, pool = self._state, job_class.pool
        if place_gang(state.free, option.gang, job_class.shape, pool=pool) is not None:
            return None
        anywhere = Shape(roles=job_class.shape.roles)
        fits_anywhere = place_gang(state.free, option.gang, anywhere, pool=pool) is not None
        reason = Reason(WaitCode.TOPOLOGY if fits_anywhere else WaitCode.FRAGMENTED)
        flavors = sorted({ask.flavor for ask in option.gang if ask.flavor >= 0})
        if fits_anywhere:
            level = job_class.shape.level
            have = sum(self._idle.best_domain(flavor, level) for flavor in flavors)
            reason.lacks("gpu", option.cards_m, have)
            reason.suggestion, reason.hint, reason.detail = "relax-topology", {"gpu": option.cards_m}, level
            return reason
        if option.cards_m:
            reason.lacks("gpu", option.cards_m, sum(self._idle.total(pool, flavor, CARDS) for flavor in flavors))
        self._lacks_nodes(reason, job_class, option, whole_only=False)
        largest = self._idle.largest(pool, option.gang[0].flavor) // CARD * CARD
        largest_ask = max(ask.cards_m for ask in option.gang)
        if not option.cards_m:
            reason.suggestion = "less-cpu"
        elif 0 < largest < largest_ask:
            reason.suggestion, reason.hint = "smaller-pods", {"gpu": largest}
        else:
            reason.suggestion, reason.hint = "wait", {"gpu": option.cards_m}
        reason.holders = self._holders.on_nodes(job_class, option)
        return reason

    def _lacks_nodes(self, reason: Reason, job_class: JobClass, option: Option, *, whole_only: bool) -> None:
        """In nodes: how many the largest role needs and how many could take its pods now; `whole_only`: if a pod fills a node."""
        ask = max(option.gang, key=lambda each: (each.cards_m, each.cpu_m))
        now, on_one = self._idle.slots(job_class.pool, ask)
        if on_one == 1 or (on_one and not whole_only):
            reason.lacks("nodes", -(-ask.count // on_one), now // on_one)

    def _turn_to_come(self, job_class: JobClass, option: Option, shared: Shared) -> Reason:
        """It would fit: what is free is kept for somebody, or its turn has not come."""
        state = self._state
        kept = self._kept.get(shared)
        if kept is None:
            placed = place_gang(state.usable, option.gang, job_class.shape, pool=job_class.pool)
            kept = self._kept[shared] = placed is None
        use = state.quota_after
        promised = not use.allows(job_class.leaf, option.amounts) or (
            self._rules.standing(use, job_class, option.amounts) == Standing.BARRED
        )
        if not (kept or promised or (job_class.blocked_from_ms <= NEVER and state.heads)):
            return self.others_first(job_class)
        return self._reserved(job_class, option)

    def _reserved(self, job_class: JobClass, option: Option) -> Reason:
        """What is left beside the promised places, for whom they are, and what run time would pass before the first of them."""
        reason = Reason(WaitCode.RESERVED, need=self.whole_ask(job_class), holders=self._promised.holders(job_class))
        reason.promised_to = frozenset(holder.job for holder in reason.holders)
        left_m = self._promised.left_m(job_class, option)
        if left_m < option.cards_m:
            reason.need = {}
            reason.lacks("gpu", option.cards_m, left_m)
        first_ms = self._promised.first_start_ms(job_class)
        if first_ms is not None:
            reason.suggestion, reason.hint = DECLARE_RUNTIME, {"before": first_ms}
        return reason

    def _idle_cards(self, option: Option) -> int:
        flavors = sorted({ask.flavor for ask in option.gang if ask.flavor >= 0})
        return sum(self._idle.total(-1, flavor, CARDS) for flavor in flavors)
