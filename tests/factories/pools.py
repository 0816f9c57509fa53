"""Clusters, pools and flavors."""

from decimal import Decimal
from typing import Any

from berth.common.units import gib_to_mib, to_milli, to_ppm
from tenants.models import Cluster, Flavor, Pool, PoolCapacity, Tenant
from tests.factories.names import unique
from tests.factories.people import LONG_AGO


def a_cluster(name: str | None = None) -> Cluster:
    return Cluster.objects.create(name=name or unique("cluster"))


def a_pool(
    name: str | None = None,
    *,
    cluster: Cluster | None = None,
    tenant: Tenant | None = None,
    factor: Decimal | int | str = 1,
    cpu: int | None = None,
    memory_gib: int | None = None,
    **fields: Any,
) -> Pool:
    """A shared pool, or `tenant`'s partition; `cpu` and `memory_gib` are recorded as its physical amounts."""
    sharing = Pool.Sharing.PARTITION if tenant else Pool.Sharing.SHARED
    pool = Pool.objects.create(
        name=name or unique("pool"),
        cluster=cluster or a_cluster(),
        tenant=tenant,
        sharing=sharing,
        factor_ppm=to_ppm(factor),
        **fields,
    )
    if cpu is not None:
        PoolCapacity.objects.create(pool=pool, resource="cpu", amount=to_milli(cpu), recorded_at=LONG_AGO)
    if memory_gib is not None:
        PoolCapacity.objects.create(pool=pool, resource="memory", amount=gib_to_mib(memory_gib), recorded_at=LONG_AGO)
    return pool


def a_flavor(
    name: str | None = None, *, pool: Pool | None = None, cards: int | None = None, vram_gib: int = 80, **fields: Any
) -> Flavor:
    """A flavor of whole cards; `cards` is recorded as what its pool physically has."""
    flavor = Flavor.objects.create(
        name=name or unique("flavor"), pool=pool or a_pool(), vram_mib=gib_to_mib(vram_gib), **fields
    )
    if cards is not None:
        PoolCapacity.objects.create(
            pool=flavor.pool, resource="gpu", flavor=flavor, amount=to_milli(cards), recorded_at=LONG_AGO
        )
    return flavor
