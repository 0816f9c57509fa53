"""Turns an organisation into rows: cluster, pools, flavors, nodes, cohorts, tenants, queues and quota lines."""

from collections.abc import Mapping
from datetime import datetime

from berth.common import clock, units
from berth.demo.organisation import (
    BILLING_ZONE,
    CLUSTER,
    CURRENCY,
    NODE_CPU_CORES,
    NODE_MEMORY_GIB,
    REAL_CLUSTER,
    NodeSpec,
    Organisation,
    QueueSpec,
    TenantSpec,
)
from scheduling.models import Card, Node, NodeDomain, NodeInterval
from scheduling.services.supply import record_pools
from tenants.models import Cluster, Cohort, Flavor, Pool, Queue, Quota, Tenant

LEVELS = ("zone", "rack")


def build_organisation(organisation: Organisation, *, since: datetime) -> None:
    """Create everything of `organisation` as it has been since `since`. Call inside a transaction, on an empty database."""
    cohorts = {name: Cohort.objects.create(name=name) for name in organisation.cohorts}
    tenants = {spec.slug: _tenant(spec, cohorts, since) for spec in organisation.tenants}
    pools, flavors = build_supply(organisation, since=since, owners=tenants)
    for tenant_spec in organisation.tenants:
        for queue_spec in tenant_spec.queues:
            _queue(queue_spec, tenants[tenant_spec.slug], pools, flavors, since)


def build_supply(
    organisation: Organisation, *, since: datetime, owners: Mapping[str, Tenant] | None = None
) -> tuple[dict[str, Pool], dict[str, Flavor]]:
    """The cluster, pools, flavors and nodes alone; a real cluster's nodes are found, not made. Partitions without their owner are left out."""
    owners = owners or {}
    found = not clock.is_simulated()
    cluster = Cluster.objects.create(
        name=REAL_CLUSTER if found else CLUSTER, kind="kubernetes" if found else "simulated", region="demo"
    )
    factors = {name: units.to_ppm(factor) for name, factor in organisation.factors}
    pools = {
        name: Pool.objects.create(name=name, cluster=cluster, factor_ppm=factors.get(name, units.PPM))
        for name in organisation.pools
    }
    for name, owner in organisation.partitions:
        if owner in owners:
            pools[name] = Pool.objects.create(name=name, cluster=cluster, sharing="partition", tenant=owners[owner])
    flavors = {
        spec.name: _flavor(spec.name, organisation, pools) for spec in organisation.flavors if spec.pool in pools
    }
    for node_spec in () if found else organisation.nodes:
        if node_spec.flavor in flavors:
            _nodes(node_spec, cluster, flavors[node_spec.flavor], since)
    record_pools(pools.values(), at=since)
    return pools, flavors


def _tenant(spec: TenantSpec, cohorts: dict[str, Cohort], since: datetime) -> Tenant:
    return Tenant.objects.create(
        slug=spec.slug,
        name=spec.name,
        cohort=cohorts.get(spec.cohort),
        isolation=spec.isolation,
        service_tier=spec.service_tier,
        cost_centre=spec.cost_centre,
        billing_timezone=BILLING_ZONE,
        currency=CURRENCY,
        created_at=since,
    )


def _flavor(name: str, organisation: Organisation, pools: dict[str, Pool]) -> Flavor:
    spec = next(flavor for flavor in organisation.flavors if flavor.name == name)
    return Flavor.objects.create(
        name=spec.name,
        pool=pools[spec.pool],
        card_model=spec.card_model,
        mode=Flavor.Mode(spec.mode),
        mig_profile=spec.mig_profile,
        resource_name=spec.resource,
        vram_mib=units.gib_to_mib(spec.vram_gib),
        weight_ppm=units.to_ppm(spec.weight),
        speed_ppm=units.to_ppm(spec.speed),
    )


def _nodes(spec: NodeSpec, cluster: Cluster, flavor: Flavor, since: datetime) -> None:
    out = dict(spec.cards_out)
    nodes = Node.objects.bulk_create(
        Node(
            cluster=cluster,
            pool=flavor.pool,
            flavor=flavor,
            name=spec.name.format(i=i, n=i + 1),
            gpus=spec.gpus,
            cpu_m=units.to_milli(NODE_CPU_CORES),
            memory_mib=units.gib_to_mib(NODE_MEMORY_GIB),
            ready_since=since,
        )
        for i in range(spec.count)
    )
    _cards(spec, nodes, flavor)
    domains = [("z1", spec.rack.format(rack=i // spec.per_rack)) for i in range(spec.count)]
    NodeDomain.objects.bulk_create(
        NodeDomain(node=node, rank=rank, level=level, domain=domain)
        for node, names in zip(nodes, domains, strict=True)
        for rank, (level, domain) in enumerate(zip(LEVELS, names, strict=True))
    )
    NodeInterval.objects.bulk_create(
        NodeInterval(
            node=node,
            pool=flavor.pool,
            tenant=flavor.pool.tenant,
            flavor=flavor,
            cards=spec.gpus,
            cards_out=len(out.get(i + 1, ())),
            state=Node.State.READY,
            during=(since, None),
        )
        for i, node in enumerate(nodes)
    )


def _cards(spec: NodeSpec, nodes: list[Node], flavor: Flavor) -> None:
    out = dict(spec.cards_out)
    Card.objects.bulk_create(
        Card(
            node=node,
            index=index,
            flavor=flavor,
            mode=flavor.mode,
            health=Card.Health.FAILED if index in out.get(i + 1, ()) else Card.Health.OK,
        )
        for i, node in enumerate(nodes)
        for index in range(spec.gpus)
    )


def _queue(
    spec: QueueSpec, tenant: Tenant, pools: dict[str, Pool], flavors: dict[str, Flavor], since: datetime
) -> None:
    queue = Queue.objects.create(
        tenant=tenant, name=spec.name, environment=spec.environment, default_tier=spec.tier, pool=pools[spec.pool]
    )
    for line in spec.quota:
        Quota.objects.create(
            queue=queue,
            resource="gpu",
            flavor=flavors[line.flavor],
            nominal=units.to_milli(line.nominal),
            borrowing_limit=None if line.borrowing is None else units.to_milli(line.borrowing),
            lending_limit=None if line.lending is None else units.to_milli(line.lending),
            valid_from=since,
        )
