"""Place in line and cards ahead, among waiting jobs that accept a same flavor (SCH-21). CPU-only jobs queue among themselves."""

from collections.abc import Iterable

from scheduling.engine.classes import JobClass

Accepts = tuple[int, ...]
"""The flavors any role of a job accepts, in index order; (-1 - pool,) for CPU-only jobs of a pool."""


class Places:
    """Fed with jobs in the cycle's order; counts are kept per distinct set of flavors, so that a job costs no more than their number."""

    def __init__(self, classes: Iterable[JobClass]) -> None:
        self._accepts = {job_class: _accepts(job_class) for job_class in classes}
        distinct = sorted(set(self._accepts.values()))
        self._meets = {one: [other for other in distinct if not set(one).isdisjoint(other)] for one in distinct}
        self._count = dict.fromkeys(distinct, 0)
        self._cards = dict.fromkeys(distinct, 0)

    def enter(self, job_class: JobClass) -> tuple[int, int]:
        """(position from 1, milli-cards ahead) of the next job in the order, which then counts for those behind it."""
        own = self._accepts[job_class]
        answer = self._count[own] + 1, self._cards[own]
        for other in self._meets[own]:
            self._count[other] += 1
            self._cards[other] += job_class.options[0].cards_m
        return answer


def _accepts(job_class: JobClass) -> Accepts:
    flavors = {ask.flavor for option in job_class.options for ask in option.gang if ask.flavor >= 0}
    return tuple(sorted(flavors)) or (-1 - job_class.pool,)
