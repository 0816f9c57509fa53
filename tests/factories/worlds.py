"""A small cluster with one tenant that may use it: what tests about jobs start from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenants.models import Cohort, Flavor, Queue, Tenant, User
from tests.factories.names import unique
from tests.factories.nodes import a_node
from tests.factories.pools import a_flavor, a_pool
from tests.factories.queues import a_queue, a_quota
from tests.factories.tenants import a_cohort, a_member_of, a_tenant, an_admin_of

IMAGE = "registry.example/train:1"


@dataclass(frozen=True, slots=True)
class World:
    """Nodes of 8 cards, 128 cores and 1,024 GiB in racks `r0` (the first two) and `r1`; one queue of one tenant."""

    cohort: Cohort
    tenant: Tenant
    queue: Queue
    flavor: Flavor
    member: User
    admin: User

    def body(self, **fields: Any) -> dict[str, Any]:
        """The smallest body that asks for a card, with `fields` in place of its own."""
        return {
            "tenant": self.tenant.slug,
            "queue": self.queue.name,
            "name": "train",
            "roles": [self.role()],
            **fields,
        }

    def role(self, *, resources: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        return {
            "name": "worker",
            "replicas": 1,
            "image": IMAGE,
            "resources": {"gpu": 1} if resources is None else dict(resources),
            **fields,
        }


def a_world(*, nodes: int = 2, nominal: int = 16, tier: str = "development", **queue: Any) -> World:
    """A shared pool of `nodes` nodes; `nominal` cards of quota without limits, for one queue of one tenant in a cohort."""
    cohort = a_cohort()
    tenant = a_tenant(cohort=cohort)
    flavor = a_flavor(unique("a100-80g"), pool=a_pool(), cards=8 * nodes)
    for number in range(nodes):
        a_node(unique("n"), flavor=flavor, topology={"rack": f"r{number // 2}"})
    line = a_queue(unique("main"), tenant=tenant, pool=flavor.pool, default_tier=tier, **queue)
    a_quota(line, flavor=flavor, nominal=nominal)
    return World(cohort, tenant, line, flavor, a_member_of(tenant), an_admin_of(tenant))
