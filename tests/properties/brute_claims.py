"""SCH-17 by brute force: whom a waiting job may ask to leave, by letting the runs of a tiny cluster go one by one, in every order."""

from collections.abc import Iterator
from typing import Final

from tests.properties.brute_force import Picture, has_place, holding
from tests.properties.tiny_scenes import BATCH, DEVELOPMENT, PRODUCTION, Tiny, Work

MINIMUM_RUN_S: Final = 600
"""Neither fair sharing nor priority takes a younger run."""


class Claimed:
    """For whom others may leave: one waiting job, in a scene where nobody else waits.

    Whether it stays inside its nominal is settled as the claim begins, not anew once a lower priority of its own queue has left.
    """

    def __init__(self, scene: Tiny, job: Work) -> None:
        self.scene, self.job = scene, job
        self._own = Picture(scene, [holding(run, run.nodes) for run in scene.runs if run.leaving is None]).is_own(job)
        self._staying = {run.name: run for run in scene.runs if run.leaving is None}
        self._pictures: dict[frozenset[str], Picture] = {}

    def after(self, gone: frozenset[str]) -> Picture:
        """Once these, and all who had notice before, have left."""
        known = self._pictures.get(gone)
        if known is None:
            staying = [holding(run, run.nodes) for name, run in self._staying.items() if name not in gone]
            known = self._pictures[gone] = Picture(self.scene, staying)
        return known

    def makes_room(self, gone: frozenset[str]) -> bool:
        """Whether the job could start then."""
        after = self.after(gone)
        return (
            after.has_quota(self.job)
            and after.within_pool_share(self.job)
            and has_place(self.scene, after.free, self.job)
        )

    def may_leave(self) -> Iterator[frozenset[str]]:
        """Every set of runs that the job may ask to leave, one after another in some order."""
        if self.job.tier == BATCH:
            yield frozenset()
            return
        start = (frozenset[str](), frozenset[str]())
        seen, told, line = {start}, set[frozenset[str]](), [start]
        while line:
            gone, asked = line.pop()
            if gone not in told:
                told.add(gone)
                yield gone
            for name, run in self._staying.items():
                if name in gone:
                    continue
                for strategy in self._ways(run, gone, asked):
                    found = (gone | {name}, asked | {run.tenant} if strategy else asked)
                    if found not in seen:
                        seen.add(found)
                        line.append(found)

    def _ways(self, run: Work, gone: frozenset[str], asked: frozenset[str]) -> Iterator[bool]:
        """By which rules it may be taken once those have gone: True for the one that takes once from a queue (SCH-17)."""
        if run.tier == PRODUCTION:
            return
        after, job = self.after(gone), self.job
        if run.tenant == job.tenant:
            if self._yields(run, after):
                yield False
            return
        if not (self.scene.tenants[run.tenant].cohort and self.scene.tenants[job.tenant].cohort):
            return
        if not after.stands_above(run.tenant, run.tier):
            return
        if self._own:
            yield False
        elif run.started >= MINIMUM_RUN_S and job.tier != PRODUCTION:
            ours, theirs = after.over_share(job.tenant, job.cards), after.over_share(run.tenant)
            if ours <= self.after(gone | {run.name}).over_share(run.tenant):
                yield False
            if ours < theirs and run.tenant not in asked:
                yield True

    def _yields(self, run: Work, after: Picture) -> bool:
        """Work of the job's own queue: batch, a lower tier that would stand above nominal, a lower priority of the same tier."""
        job = self.job
        if run.tier == BATCH:
            return True
        if run.tier < job.tier:
            return self._own and after.stands_above(job.tenant, run.tier, job.cards)
        return run.tier == job.tier == DEVELOPMENT and run.priority < job.priority and run.started >= MINIMUM_RUN_S
