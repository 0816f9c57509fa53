"""When waiting jobs are expected to start, as last forecast and stored, and how honest such ranges have been (SCH-21)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, OuterRef, Q, Subquery

from scheduling.models import Forecast, Job

SCORED = 1000
"""The hit rate is over the newest scored forecasts, so that it speaks of the cluster as it is now."""


@dataclass(frozen=True, slots=True)
class StartRange:
    """P10 to P90 with the likeliest instant; all None and `why_not` set where it cannot be told."""

    earliest: datetime | None
    likely: datetime | None
    latest: datetime | None
    why_not: str
    was: datetime | None = None


@dataclass(frozen=True, slots=True)
class HitRate:
    """`held` of `of` earlier ranges contained the start."""

    held: int
    of: int


def start_ranges_of(job_ids: Collection[int]) -> dict[int, StartRange]:
    """The newest forecast of each job; jobs never forecast are absent."""
    if not job_ids:
        return {}
    newest = Forecast.objects.filter(job=OuterRef("pk")).order_by("-id").values("pk")[:1]
    chosen = Job.objects.filter(pk__in=job_ids).annotate(newest=Subquery(newest)).values("newest")
    rows = Forecast.objects.filter(pk__in=chosen)
    return {row.job_id: StartRange(row.earliest, row.likely, row.latest, row.why_not) for row in rows}


def hit_rate() -> HitRate:
    """Over the newest 1,000 scored forecasts; of 0 before the first job has started."""
    scored = Forecast.objects.filter(held__isnull=False).order_by("-id").values("pk")[:SCORED]
    counts = Forecast.objects.filter(pk__in=scored).aggregate(held=Count("pk", filter=Q(held=True)), of=Count("pk"))
    return HitRate(counts["held"], counts["of"])
