"""Place in line and cards ahead, among waiting jobs that accept a same flavor (SCH-21). CPU-only jobs queue among themselves."""

from collections.abc import Iterable

from scheduling.engine.classes import JobClass

Accepts = tuple[int, ...]
"""The flavors any role of a job accepts, in index order; (-1 - pool,) for CPU-only jobs of a pool."""


class Places:
    """Fed with jobs in the cycle's order; counts are kept per distinct set of flavors, so that a job costs no more than their number."""

    def __init__(self, classes: Iterable[JobClass]) -> None:
        accepts = {job_class: _accepts(job_class) for job_class in classes}
        distinct = sorted(set(accepts.values()))
        at = {one: place for place, one in enumerate(distinct)}
        meets = [[at[other] for other in distinct if not set(one).isdisjoint(other)] for one in distinct]
        self._of = {
            job_class: (at[one], meets[at[one]], job_class.options[0].cards_m) for job_class, one in accepts.items()
        }
        """By class: place of its set of flavors among the distinct ones, places of those that share one, and its milli-cards."""
        self._count = [0] * len(distinct)
        self._cards = [0] * len(distinct)

    def enter(self, job_class: JobClass) -> tuple[int, int]:
        """(position from 1, milli-cards ahead) of the next job in the order, which then counts for those behind it."""
        own, meets, cards_m = self._of[job_class]
        answer = self._count[own] + 1, self._cards[own]
        for other in meets:
            self._count[other] += 1
            self._cards[other] += cards_m
        return answer


def _accepts(job_class: JobClass) -> Accepts:
    flavors = {ask.flavor for option in job_class.options for ask in option.gang if ask.flavor >= 0}
    return tuple(sorted(flavors)) or (-1 - job_class.pool,)
