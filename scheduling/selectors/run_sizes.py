"""The size of an elastic run: how many pods now, of which range, what it asked for, and why it is not larger (SCH-10)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, F

from scheduling.models import Pod, Role, Run, RunResize

ASKED_FOR: Final = "asked-for"
DID_NOT_FIT: Final = "did-not-fit"


@dataclass(frozen=True, slots=True)
class RunSize:
    """Of the role that may be resized. `why` it is below `replicas`: the reason of the change that made it so, `asked-for`, or
    `did-not-fit` where it has been since its start; "" at full size and while it grows again. `since` its last change."""

    role: str
    pods: int
    minimum: int
    replicas: int
    wanted: int | None
    why: str
    since: datetime | None


def sizes_of(runs: Sequence[Run]) -> dict[int, RunSize]:
    """By run, of those whose job has a range. One query where there is none, three else."""
    roles: dict[int, Role] = {}
    elastic = Role.objects.filter(job_id__in={run.job_id for run in runs}, in_gang=True, minimum__lt=F("replicas"))
    for role in elastic.order_by("-position"):
        roles[role.job_id] = role
    mine = [run for run in runs if run.job_id in roles]
    if not mine:
        return {}
    counts = _counts(mine)
    last = {row.run_id: row for row in RunResize.objects.filter(run__in=mine).order_by("id")}
    return {
        run.pk: _size(run, roles[run.job_id], counts.get((run.pk, roles[run.job_id].name), 0), last.get(run.pk))
        for run in mine
    }


def _counts(runs: Sequence[Run]) -> Mapping[tuple[int, str], int]:
    rows = Pod.objects.filter(run__in=runs, released_at__isnull=True).values_list("run_id", "role_name")
    return {(run, role): pods for run, role, pods in rows.annotate(pods=Count("pk")).order_by("run_id", "role_name")}


def _size(run: Run, role: Role, pods: int, last: RunResize | None) -> RunSize:
    why = ""
    if pods < role.replicas:
        if run.wanted_size is not None and run.wanted_size <= pods:
            why = ASKED_FOR
        elif last is None:
            why = DID_NOT_FIT
        elif last.new < last.old:
            why = last.reason
    since = None if last is None else last.at
    return RunSize(role.name, pods, role.minimum, role.replicas, run.wanted_size, why, since)
