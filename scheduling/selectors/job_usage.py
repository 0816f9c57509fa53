"""What a job held and how busy that was: card-seconds by run and flavor, own, borrowed and not charged, with their samples."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, Max, Sum

from scheduling.models import Job, LeaseSegment, UtilisationHour
from scheduling.selectors.job_costs import SecondsOf


@dataclass(slots=True)
class HeldTime:
    """1/7000 card × seconds. `sampled` and `busy` are of the same unit; samples that are missing are unknown, never idle."""

    run: int
    flavor: str
    own: int = 0
    borrowed: int = 0
    excluded: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    sampled: int = 0
    busy: int = 0
    peak_vram_mib: int | None = None

    @property
    def held(self) -> int:
        return self.own + self.borrowed + sum(self.excluded.values())


def job_usage(job: Job) -> list[HeldTime]:
    """By run number, then flavor; cards only. What is not yet in a segment (a run that has just begun) is not in it."""
    found: dict[tuple[int, str], HeldTime] = {}

    def line(run: int, flavor: str) -> HeldTime:
        return found.setdefault((run, flavor), HeldTime(run, flavor))

    segments: Any = (
        LeaseSegment.objects.filter(lease__run__job=job, lease__flavor__isnull=False)
        .values("kind", "borrowed", run=F("lease__run__number"), flavor=F("lease__flavor__name"))
        .annotate(units=Sum(F("quantity") * SecondsOf("during")))
        .order_by()
    )
    for row in segments:
        at, units = line(row["run"], row["flavor"]), int(row["units"] or 0)
        if row["kind"] != LeaseSegment.Kind.BILLABLE:
            at.excluded[row["kind"]] += units
        elif row["borrowed"]:
            at.borrowed += units
        else:
            at.own += units
    numbers = dict(job.runs.values_list("pk", "number"))
    samples: Any = (
        UtilisationHour.objects.filter(run_id__in=list(numbers))
        .values("run_id", name=F("flavor__name"))
        .annotate(sampled=Sum("sampled_units_s"), busy=Sum("busy_units_s"), peak=Max("peak_vram_mib"))
        .order_by()
    )
    for row in samples:
        at = line(numbers[row["run_id"]], row["name"])
        at.sampled, at.busy, at.peak_vram_mib = int(row["sampled"]), int(row["busy"]), row["peak"]
    return [found[key] for key in sorted(found)]
