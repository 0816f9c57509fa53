"""What a list of jobs may be narrowed by: `?tenant=&queue=&state=&tier=&user=&label=`, and also by kind, priority, name and project."""

import re
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_canon.errors import QueryParamError
from rest_framework.request import Request

from scheduling.models import Job
from scheduling.models.job import TIERS
from scheduling.services.job_body.job import HIGHEST_PRIORITY
from scheduling.states import JobState

JOB_QUERY: Final = {
    "tenant": "Slug.",
    "queue": "Name.",
    "state": "One state, or several with commas.",
    "tier": "One tier, or several with commas.",
    "kind": "One kind, or several with commas.",
    "priority": "Its priority, 0 to 1000.",
    "user": "Who submitted it.",
    "label": "`key=value`, `key:value` or `key`.",
    "name": "The job's name, whole.",
    "project": "Slug.",
}
STATES: Final = tuple(state.value for state in JobState)
TIER_NAMES: Final = tuple(tier for tier, _label in TIERS)


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Empty means not asked for."""

    tenant: str = ""
    queue: str = ""
    states: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    priority: int | None = None
    user: str = ""
    label: str = ""
    name: str = ""
    project: str = ""

    def narrow(self, jobs: QuerySet[Job]) -> QuerySet[Job]:
        """The jobs that match all of it."""
        found: dict[str, Any] = {}
        if self.tenant:
            found["tenant__slug"] = self.tenant
        if self.queue:
            found["queue__name"] = self.queue
        if self.states:
            found["state__in"] = self.states
        if self.tiers:
            found["tier__in"] = self.tiers
        if self.kinds:
            found["kind__in"] = self.kinds
        if self.priority is not None:
            found["priority"] = self.priority
        if self.user:
            found["user__username"] = self.user
        if self.name:
            found["name"] = self.name
        if self.project:
            found["project__slug"] = self.project
        if self.label:
            key, separator, value = _parts(self.label)
            found["labels__contains" if separator else "labels__has_key"] = {key: value} if separator else key
        return jobs.filter(**found)


def read_job_query(request: Request) -> JobQuery:
    """Raises a 400 that names every value that is none of its list."""
    given = {name: ",".join(request.query_params.getlist(name)) for name in ("state", "tier", "kind")}
    one = {name: request.query_params.get(name, "") for name in ("tenant", "queue", "user", "label", "name", "project")}
    wrong: dict[str, str] = {}
    states = _several(given["state"], STATES, "state", wrong)
    tiers = _several(given["tier"], TIER_NAMES, "tier", wrong)
    kinds = _several(given["kind"], tuple(Job.Kind.values), "kind", wrong)
    priority = _priority(request.query_params.get("priority", ""), wrong)
    if wrong:
        raise QueryParamError(wrong)
    return JobQuery(states=states, tiers=tiers, kinds=kinds, priority=priority, **one)


def _priority(text: str, wrong: dict[str, str]) -> int | None:
    if not text:
        return None
    if not re.fullmatch("[0-9]{1,4}", text) or int(text) > HIGHEST_PRIORITY:
        wrong["priority"] = _("Must be a whole number from 0 to %d.") % HIGHEST_PRIORITY
        return None
    return int(text)


def _several(text: str, known: tuple[str, ...], name: str, wrong: dict[str, str]) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",")) if text else ()
    if any(part not in known for part in found):
        wrong[name] = _("Choose from: %s.") % ", ".join(known)
    return found


def _parts(label: str) -> tuple[str, str, str]:
    """Split at the first `=`, else at the first `:`."""
    return label.partition("=" if "=" in label else ":")
