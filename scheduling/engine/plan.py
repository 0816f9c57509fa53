"""What the engine decides: every kind of decision of DESIGN section 5, as immutable records. Ids are the snapshot's ids.

Every pending job is in exactly one of `starts` and `waits` (an impossible one is a wait with code `impossible`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduling.engine.snapshot import Id
from scheduling.engine.vocabulary import PreemptReason, ReservationKind, WaitCode

Amounts = Mapping[str, int]
"""Resource key of docs/api-jobs.md (`gpu`, `gpu:<flavor>`, `cpu`, `memory_gib`, `vram_gib`, `nodes`) -> integer in engine units:
milli-cards, millicores, MiB, nodes."""


@dataclass(frozen=True, slots=True)
class Placement:
    """One pod on one node. `cards` are the card indexes in slot order (empty where the snapshot has no card rows)."""

    role: str
    index: int
    node: Id
    flavor: Id | None
    cards_m: int
    borrowed_m: int
    cpu_m: int
    memory_mib: int
    vram_mib: int
    cards: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LoanOpen:
    """A loan that comes with a start or a re-split. `sides` are (tree node id, amount) of the lenders (SCH-16)."""

    flavor: Id
    amount_m: int
    expires_ms: int
    sides: tuple[tuple[str, Id, int], ...]


@dataclass(frozen=True, slots=True)
class Start:
    """Start a job whole. `own` and `borrowed` are by resource key; `slowdown_ppm` is topology's (SCH-11), 0 = none."""

    job: Id
    pods: tuple[Placement, ...]
    own: Amounts
    borrowed: Amounts
    loans: tuple[LoanOpen, ...] = ()
    levels_crossed: tuple[str, ...] = ()
    slowdown_ppm: int = 0
    backfilled: bool = False


@dataclass(frozen=True, slots=True)
class Evict:
    """Stop a run: notice now, `grace_ms` until it is ended. `for_job` is None where nobody in particular asked (drain)."""

    job: Id
    run: Id
    for_job: Id | None
    reason: PreemptReason
    grace_ms: int
    lost_card_ms: int = 0


@dataclass(frozen=True, slots=True)
class Resize:
    """SCH-10: pods added (with node) or removed (index) while the job runs; those removed have `grace_ms` to leave.

    `loans` stand in place of those of their flavors that the job had: it borrows more with what was added.
    """

    job: Id
    role: str
    old: int
    new: int
    reason: str
    added: tuple[Placement, ...] = ()
    removed: tuple[int, ...] = ()
    grace_ms: int = 0
    loans: tuple[LoanOpen, ...] = ()


@dataclass(frozen=True, slots=True)
class Reserve:
    """Cards kept: for evictors' askers (`kept-for-job`) and for backfill heads (`backfill`, from its earliest start).

    `pods` are (role, node, card, pods) as in `snapshot.Reservation`.
    """

    kind: ReservationKind
    job: Id
    from_ms: int
    to_ms: int
    nodes: tuple[Id, ...]
    cards: tuple[tuple[Id, int], ...] = ()
    pods: tuple[tuple[str, Id, int, int], ...] = ()
    amounts: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Release:
    """A reservation that is no longer needed."""

    reservation: Id
    why: str


@dataclass(frozen=True, slots=True)
class LoanChange:
    """Renew (new `expires_ms`) or end (`expires_ms` None) an open loan; `why`: renewed, expired, returned, own-now."""

    loan: Id
    expires_ms: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Recharge:
    """The own/borrowed split of a running job changes with this cycle (SCH-03): new borrowed amount per pod, in pod order."""

    job: Id
    run: Id
    borrowed_m: tuple[tuple[str, int, int], ...]
    loans: tuple[LoanOpen, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """SCH-24, SCH-27: a pod moved to free its place on a node; `cards` are those it takes on the target, in slot order."""

    job: Id
    role: str
    index: int
    source: Id
    target: Id
    cards: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds what a waiting job lacks. `tenant` is named only inside one cohort by whoever prints it (SCH-21)."""

    tenant: str
    queue: str
    job: Id | None
    amounts: Amounts
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """One reason with numbers (SCH-21). `suggestion` is a code of berth.common.reasons with `hint` as its numbers."""

    job: Id
    code: WaitCode
    need: Amounts = field(default_factory=dict)
    have: Amounts = field(default_factory=dict)
    short: Amounts = field(default_factory=dict)
    holders: tuple[Holder, ...] = ()
    suggestion: str = ""
    hint: Amounts = field(default_factory=dict)
    position: int | None = None
    cards_ahead_m: int | None = None
    reserved_start_ms: int | None = None
    kept: tuple[Id, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """SCH-05 of one node of the tree, for printing: `drf` as an exact fraction, over-quota share in permille."""

    drf_numerator: int
    drf_denominator: int
    over_quota_permille: int
    dominant: str
    effective_weight_ppm: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One cycle's decisions, each list in decision order. `order` is the cycle's order of all waiting jobs (positions derive)."""

    starts: tuple[Start, ...] = ()
    evicts: tuple[Evict, ...] = ()
    resizes: tuple[Resize, ...] = ()
    reserves: tuple[Reserve, ...] = ()
    releases: tuple[Release, ...] = ()
    loans: tuple[LoanChange, ...] = ()
    recharges: tuple[Recharge, ...] = ()
    moves: tuple[Move, ...] = ()
    waits: tuple[Wait, ...] = ()
    shares: Mapping[str, Share] = field(default_factory=dict)
    order: tuple[Id, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant of SCH-23 that a decision would break; the decision and all it touches is dropped."""

    rule: str
    jobs: tuple[Id, ...]
    detail: str
