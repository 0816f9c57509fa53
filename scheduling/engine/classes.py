"""Jobs of one queue, shape and tier are one class: what is true of the first is true of the next (planned per class, not per job)."""

from dataclasses import dataclass

from scheduling.engine.asks import NOBODY, Option, list_options
from scheduling.engine.card_modes import find_mismatch, is_share
from scheduling.engine.elastic import list_sizes
from scheduling.engine.objective import CHEAPEST, by_objective, chosen_in_time, in_time
from scheduling.engine.share import DominantShares, Vector
from scheduling.engine.snapshot import Shape, Snapshot
from scheduling.engine.units import NEVER
from scheduling.engine.unsupported import find_unsupported

Key = tuple[int, int, int]
"""(queue, shape, tier)"""
InTime = tuple[int, ...] | None
"""Places of the flavor choices that end before a job's deadline (SCH-20); None where that leaves no choice out."""


@dataclass(slots=True, eq=False)
class JobClass:
    """`blocked_from_ms`: a job that would end at or after this instant cannot start in this cycle; 0 = none can.

    `sizes` are the options at every size that a start may have, the full one first (SCH-10); `smaller_blocked_from_ms` and
    `smaller_claim_failed` are of the smaller ones. `claim_failed`: no victims help a job of this priority or a lower one; `turn_failed`:
    nobody whose turn it could take by the policy's terms does (SCH-27). `impossible` names why no job of the class can ever run as far as a glance tells
    ("" = it may); `weighed` says that capacity and quota were asked too.
    """

    queue: int
    leaf: int
    tenant: int
    tier: int
    pool: int
    shape_index: int
    shape: Shape
    options: tuple[Option, ...]
    ask: Vector
    impossible: str = ""
    blocked_from_ms: int = NEVER + 1
    claim_failed: int = -1
    turn_failed: bool = False
    weighed: bool = False
    sizes: tuple[tuple[Option, ...], ...] = ()
    smaller_blocked_from_ms: int = NEVER + 1
    smaller_claim_failed: int = -1

    @property
    def smallest(self) -> tuple[Option, ...]:
        """The options at the size below which no job of the class starts."""
        return self.sizes[-1] if self.sizes else self.options


class ClassBook:
    """Classes by (queue, shape, tier), made when first asked for; jobs with a deadline that some choices miss are ones of their own."""

    def __init__(self, snapshot: Snapshot, tenant_of: list[int], shares: DominantShares) -> None:
        self._snapshot, self._tenant_of, self._shares = snapshot, tenant_of, shares
        self._classes: dict[tuple[Key, InTime], JobClass] = {}
        self._options: dict[Key, tuple[Option, ...]] = {}
        self._sizes: dict[Key, tuple[tuple[Option, ...], ...]] = {}

    def of(self, queue: int, shape: int, tier: int, good: InTime = None) -> JobClass:
        key = ((queue, shape, tier), good)
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = self._make(queue, shape, tier, good)
        return found

    def of_pending(self, job: int, now_ms: int) -> JobClass:
        """The class of a waiting job, by its index."""
        pending = self._snapshot.pending
        queue, shape, tier = int(pending.queue[job]), int(pending.shape[job]), int(pending.tier[job])
        return self.of(queue, shape, tier, self.in_time(job, self.of(queue, shape, tier), now_ms))

    def in_time(self, job: int, job_class: JobClass, now_ms: int) -> InTime:
        """Which of its class's choices a waiting job can take for its deadline."""
        deadline_ms = int(self._snapshot.pending.deadline_ms[job])
        if job_class.shape.objective != CHEAPEST or deadline_ms >= NEVER or len(job_class.options) < 2:
            return None
        expected_ms = int(self._snapshot.pending.expected_ms[job])
        return in_time(job_class.options, self._snapshot.flavors, expected_ms=expected_ms, left_ms=deadline_ms - now_ms)

    def _make(self, queue: int, shape_index: int, tier: int, good: InTime) -> JobClass:
        row, shape = self._snapshot.queues[queue], self._snapshot.shapes[shape_index]
        tenant = self._tenant_of[row.node]
        key = (shape_index, row.pool, tenant if any(is_share(role.cards_m) for role in shape.roles) else NOBODY)
        options = self._options.get(key)
        if options is None:
            flavors = self._snapshot.flavors
            listed = list_options(shape, row.pool, flavors, tenant)
            options = self._options[key] = by_objective(listed, shape.objective, flavors)
            self._sizes[key] = list_sizes(shape, options, len(flavors))
        sizes = self._sizes[key]
        if good is not None:
            options = chosen_in_time(options, good, self._snapshot.flavors)
            sizes = list_sizes(shape, options, len(self._snapshot.flavors))
        impossible = ""
        if find_unsupported(shape):
            impossible = "unsupported"
        elif not options:
            impossible = self._why_none(shape, row.pool)
        return JobClass(
            queue=queue, leaf=row.node, tenant=tenant, tier=tier, pool=row.pool,
            shape_index=shape_index, shape=shape, options=options,
            ask=self._shares.vector(options[0].amounts) if options else (0, 0, 0, 0), impossible=impossible,
            sizes=sizes,
        )  # fmt: skip

    def _why_none(self, shape: Shape, pool: int) -> str:
        """Of a role without any flavor that can serve it: what is wrong with the flavors it names, else that it names none here."""
        flavors = self._snapshot.flavors
        for role in shape.roles:
            here = [flavors[flavor] for flavor in role.flavors if flavors[flavor].pool == pool]
            wrong = [find_mismatch(flavor, role.cards_m, role.replicas) for flavor in here]
            if role.cards_m and here and all(wrong):
                return wrong[0]
        return "flavor"
