"""Queues and quota lines."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from berth.common.units import gib_to_mib, to_milli
from tenants.models import Cohort, Flavor, Pool, Queue, Quota, Tenant
from tests.factories.names import unique
from tests.factories.people import LONG_AGO
from tests.factories.pools import a_pool
from tests.factories.tenants import a_tenant

Amount = Decimal | int | str


def a_queue(
    name: str | None = None,
    *,
    tenant: Tenant | None = None,
    pool: Pool | None = None,
    cards: Mapping[Flavor, Amount] | None = None,
    **fields: Any,
) -> Queue:
    """An open queue; `cards` gives a nominal per flavor without limits (the pool is then the first flavor's)."""
    if pool is None:
        pool = next(iter(cards)).pool if cards else a_pool()
    queue = Queue.objects.create(name=name or unique("queue"), tenant=tenant or a_tenant(), pool=pool, **fields)
    for flavor, nominal in (cards or {}).items():
        a_quota(queue, flavor=flavor, nominal=nominal)
    return queue


def a_quota(
    node: Cohort | Tenant | Queue,
    *,
    resource: str = "gpu",
    flavor: Flavor | None = None,
    nominal: Amount = 0,
    borrowing_limit: Amount | None = None,
    lending_limit: Amount | None = None,
    valid_from: datetime = LONG_AGO,
    valid_to: datetime | None = None,
) -> Quota:
    """A line in cards, cores or GiB."""
    inside = to_milli if resource in {"gpu", "cpu"} else gib_to_mib
    return Quota.objects.create(
        **{type(node).__name__.lower(): node},
        resource=resource,
        flavor=flavor,
        nominal=inside(nominal),
        borrowing_limit=None if borrowing_limit is None else inside(borrowing_limit),
        lending_limit=None if lending_limit is None else inside(lending_limit),
        valid_from=valid_from,
        valid_to=valid_to,
    )
