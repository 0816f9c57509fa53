"""Rows of a past being written: what they may point at, and instances by model with keys given in order."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import models

from scheduling.models import Node
from tenants.models import Cohort, Flavor, Queue, Tenant, User


@dataclass(slots=True)
class Known:
    """Rows that history points at, by the names the engine used."""

    queues: dict[tuple[str, str], Queue]
    flavors: dict[str, Flavor]
    nodes: dict[str, Node]
    cards: dict[tuple[int, int], int]
    users: dict[str, User]
    tenants: dict[str, Tenant]
    cohorts: dict[str, Cohort]
    shapes: dict[tuple[Any, ...], str] = field(default_factory=dict)


@dataclass(slots=True)
class Rows:
    """Instances by model, with primary keys given in order."""

    known: Known
    since: datetime
    rows: dict[type[models.Model], list[Any]] = field(default_factory=lambda: defaultdict(list))

    def add(self, model: type[models.Model], **values: Any) -> Any:
        found = self.rows[model]
        row = model(id=len(found) + 1, **values)
        found.append(row)
        return row

    def at(self, ms: int) -> datetime:
        return self.since + timedelta(milliseconds=ms)
