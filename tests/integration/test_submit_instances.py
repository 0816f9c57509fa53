"""Submitting to MIG instances: what is taken, what is refused and why, and what is meant where no flavor is named (SCH-13)."""

from typing import Any

import pytest

from scheduling.services.submit import submit_job
from tenants.models import Flavor
from tests.factories import a_flavor, a_node, a_quota
from tests.factories.worlds import a_world
from tests.integration.test_submit_job import message, refused

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("replicas", "gpu", "want"),
    [
        (2, 1, {"roles[0].resources.flavors[0]": "mig-ranks"}),
        (1, 0.5, {"roles[0].resources.flavors[0]": "invalid"}),
        (1, 0, {"roles[0].resources.flavors": "invalid"}),
        (1, 29, {"roles[0].resources.gpu": "impossible"}),
    ],
    ids=["two ranks", "a part of an instance", "none", "more than a node has"],
)
def test_instances_are_asked_for_whole_by_one_rank(replicas: int, gpu: float, want: dict[str, str]) -> None:
    """SCH-13: instances do not talk to each other; four cards of 1g.10gb are 28."""
    world = a_world()
    mig = a_flavor("mig-card", pool=world.queue.pool, mode="mig", mig_profile="1g.10gb")
    a_node(flavor=mig, gpus=4)
    a_quota(world.queue, flavor=mig, nominal=100)
    resources = {"gpu": gpu, "flavors": ["mig-card"]}

    assert refused(world, world.body(roles=[world.role(replicas=replicas, resources=resources)])) == want


def test_an_instance_is_meant_where_it_is_named_or_where_the_pool_has_nothing_else() -> None:
    world = a_world()
    mig = a_flavor("mig-card", pool=world.queue.pool, mode="mig", mig_profile="2g.20gb")
    a_node(flavor=mig, gpus=4, cpu=96, memory_gib=120)
    a_quota(world.queue, flavor=mig, nominal=12)

    def taken(resources: dict[str, Any]) -> tuple[list[str], int, int]:
        role = submit_job(world.member, world.body(roles=[world.role(resources=resources)])).roles.get()
        return [found.flavor.name for found in role.role_flavors.all()], role.cpu_m, role.memory_mib

    assert taken({"gpu": 1, "flavors": ["mig-card"]}) == (["mig-card"], 8_000, 10 * 1024)
    assert taken({"gpu": 1})[0] == [world.flavor.name]

    Flavor.objects.filter(pk=world.flavor.pk).update(mode="shared")
    assert taken({"gpu": 1})[0] == ["mig-card"]


def test_a_pool_of_instances_says_why_it_takes_no_gang() -> None:
    world = a_world()
    Flavor.objects.filter(pk=world.flavor.pk).update(mode="mig", mig_profile="1g.10gb")

    said = message(world, world.body(roles=[world.role(replicas=2, resources={"gpu": 1})]))

    assert "has MIG instances only" in said
    assert "a role on them has 1 replica" in said
