"""Who could start beside a plan, and who could not where the plan starts him: by brute force, on tiny clusters.

A start has to fit as things are, and once those who leave have left and those whom places are kept for have come (SCH-17); and where it
may still run when a backfill place is taken, beside that one too (SCH-08).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from scheduling.engine.plan import Plan, Reserve
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import ReservationKind
from tests.properties.brute_force import Holding, Picture, has_place, holding
from tests.properties.tiny_scenes import PRODUCTION, Tiny, Work
from tests.unit.engine.builders import NOW_MS


@dataclass(frozen=True)
class Held:
    """What work holds from now until it ends by its limit (None: never) or leaves by notice."""

    work: Work
    held: Holding
    ends: int | None
    leaves: int | None = None

    def is_there(self, at: int) -> bool:
        """Whether it may still be there that many seconds from now."""
        return (self.ends is None or self.ends > at) and (self.leaves is None or self.leaves > at)


class Beside:
    """Pictures of one plan: `now`, `after`, and one for each backfill place at its time."""

    def __init__(self, scene: Tiny, plan: Plan, *, borrowing: bool) -> None:
        self.scene, self.plan, self._borrowing = scene, plan, borrowing
        self.work = {each.name: each for each in (*scene.runs, *scene.jobs)}
        self.present = [*self._running(), *self._starting()]
        self.places = dict(self._kept())
        """Of jobs that wait for others to leave."""
        self.heads = [row for row in plan.reserves if row.kind == ReservationKind.BACKFILL]

    def _running(self) -> Iterator[Held]:
        told = {evict.job: evict.grace_ms // 1000 for evict in self.plan.evicts}
        for run in self.scene.runs:
            ends = None if run.limit is None else run.limit - run.started
            leaves = run.leaving if run.leaving is not None else told.get(run.name)
            yield Held(run, holding(run, run.nodes), ends, leaves)

    def _starting(self) -> Iterator[Held]:
        for start in self.plan.starts:
            work = self.work[str(start.job)]
            cards = tuple((str(pod.node), pod.cards_m // CARD) for pod in start.pods)
            yield Held(work, Holding(work.tenant, work.tier, cards), work.limit)

    def _kept(self) -> Iterator[tuple[Any, Holding]]:
        """Places carried over, but for those let go, and new ones."""
        gone = {release.reservation for release in self.plan.releases}
        for job, nodes in self.scene.kept.items():
            if f"k-{job}" not in gone:
                yield job, holding(self.work[job], nodes)
        for row in self.plan.reserves:
            if row.kind == ReservationKind.KEPT_FOR_JOB:
                yield row.job, self._place(row)

    def _place(self, row: Reserve) -> Holding:
        work = self.work[str(row.job)]
        return Holding(work.tenant, work.tier, tuple((str(node), cards_m // CARD) for node, cards_m in row.cards))

    def now(self, *, but: Any = None) -> Picture:
        return Picture(self.scene, [each.held for each in self.present if each.work.name != but])

    def after(self, *, but: Any = None) -> Picture:
        staying = [each.held for each in self.present if each.leaves is None and each.work.name != but]
        return Picture(self.scene, [*staying, *self.places.values()])

    def at(self, row: Reserve, *, but: Any) -> Picture:
        """When a backfill place is taken, with all who may still be there and all who may have come by then."""
        seconds = (row.from_ms - NOW_MS) // 1000
        there = [each.held for each in self.present if each.is_there(seconds)]
        come = [self._place(head) for head in self.heads if head.from_ms <= row.from_ms and head.job != but]
        return Picture(self.scene, [*there, *self.places.values(), *come])

    def could_start(self, job: Work) -> bool:
        """A waiting job, beside everything that the plan starts, keeps and reserves."""
        others = (row for row in self.heads if row.job != job.name)
        heads = [row for row in others if job.limit is None or NOW_MS + job.limit * 1000 > row.from_ms]
        pictures = [self.now(), self.after(), *(self.at(row, but=job.name) for row in heads)]
        if not all(self._allows(each, job) for each in pictures):
            return False
        free = {node: min(each.free[node] for each in pictures) for node in self.scene.nodes}
        return pictures[1].within_pool_share(job) and has_place(self.scene, free, job)

    def _allows(self, picture: Picture, job: Work) -> bool:
        return picture.has_quota(job, borrowing=self._borrowing)

    def wrong_starts(self) -> list[str]:
        """Jobs that start without quota, or on cards that somebody else has or is to have.

        A lower tier that started first counts as borrowing once a higher one of its tenant has started too (SCH-01): where the policy lets
        nobody borrow, each is held against those before it.
        """
        found, runs = [], len(self.scene.runs)
        for place, each in enumerate(self.present[runs:], runs):
            work = each.work
            now, after = self.now(but=work.name), self.after(but=work.name)
            fits = all(now.free[node] >= cards and after.free[node] >= cards for node, cards in _by_node(each.held))
            room = all(work.cards <= picture.available(work.tenant) for picture in (now, after))
            before = Picture(self.scene, [other.held for other in self.present[:place]])
            due = (now if work.tier == PRODUCTION else before).is_due(work, borrowing=self._borrowing)
            if not (fits and room and due and after.within_pool_share(work)):
                found.append(work.name)
        return found

    def broken_places(self) -> list[Any]:
        """Jobs whose backfill place somebody else has at its time, or whose quota, even if all have left by then who were told to."""
        return [row.job for row in self.heads if not self._is_whole(row)]

    def _is_whole(self, row: Reserve) -> bool:
        seconds, job = (row.from_ms - NOW_MS) // 1000, self.work[str(row.job)]
        there = [each.held for each in self.present if each.leaves is None and each.is_there(seconds)]
        there += [held for name, held in self.places.items() if self.work[name].limit is None]
        for head in self.heads:
            if head.job != row.job and head.from_ms <= row.from_ms < head.to_ms:
                there.append(self._place(head))
        then = Picture(self.scene, there)
        return self._allows(then, job) and all(then.free[node] >= cards for node, cards in _by_node(self._place(row)))


def _by_node(held: Holding) -> Iterable[tuple[str, int]]:
    totals: dict[str, int] = {}
    for node, cards in held.cards:
        totals[node] = totals.get(node, 0) + cards
    return totals.items()
