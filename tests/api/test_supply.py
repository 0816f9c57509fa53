"""`/flavors` and `/pools`: what there is and what is free."""

import pytest
from pytest_django import DjangoAssertNumQueries

from scheduling.models import Card, Node
from tenants.models import Flavor
from tests.api.conftest import ClientFor
from tests.api.problems import code_of
from tests.factories import (
    a_finance_user,
    a_flavor,
    a_job,
    a_lease,
    a_member_of,
    a_node,
    a_pool,
    a_queue,
    a_run,
    a_tenant,
    an_outsider_member,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def flavor() -> Flavor:
    """Three nodes of 8: one with a failed card and two cards held, one cordoned, one lost."""
    flavor = a_flavor("a100-80g", pool=a_pool("shared", factor="1.2"), vram_gib=80)
    busy = a_node("n1", flavor=flavor, cards_out={7}, topology={"zone": "z1", "rack": "r1"})
    a_node("n2", flavor=flavor, cordoned=True)
    a_node("n3", flavor=flavor, state=Node.State.LOST)
    run = a_run(a_job(a_queue(pool=flavor.pool), flavor=flavor))
    for slot, card in enumerate(Card.objects.filter(node=busy).order_by("index")[:2]):
        a_lease(run, card, slot=slot, cpu_m=8000 if slot == 0 else 0, memory_mib=65536 if slot == 0 else 0)
    return flavor


def test_a_flavor_tells_cards_in_service_and_cards_that_are_free(client_for: ClientFor, flavor: Flavor) -> None:
    """Capacity 7 + 8 (the lost node's and the failed card are out); free 8 − 1 failed − 2 held on the only node that takes pods."""
    [row] = client_for(an_outsider_member()).get("/api/v1/flavors").json()["results"]

    assert row == {
        "name": "a100-80g",
        "pool": "shared",
        "cards": "whole",
        "mig_profile": "",
        "card_model": "",
        "resource_name": "nvidia.com/gpu",
        "vram_gib": 80,
        "speed": 1,
        "weight": 1,
        "state": "open",
        "topology": ["zone", "rack"],
        "capacity": 15,
        "free": 5,
    }


def test_a_pool_tells_its_rule_its_levels_and_its_amounts(client_for: ClientFor, flavor: Flavor) -> None:
    row = client_for(an_outsider_member()).get("/api/v1/pools/shared").json()

    assert (
        row.items() >= {"factor": 1.2, "high": 0.85, "low": 0.75, "state": "open", "nodes": 3, "nodes_ready": 1}.items()
    )
    assert (row["time_sharing"], row["quantum_s"]) == (False, 1800), "SCH-27: off unless asked for"
    assert row["topology"] == ["zone", "rack"]
    assert row["capacity"] == {"gpu": {"a100-80g": 15}, "cpu": 256, "memory_gib": 2048}
    assert row["free"] == {"gpu": {"a100-80g": 5}, "cpu": 120, "memory_gib": 960}


def test_a_pool_tells_that_its_jobs_take_turns(client_for: ClientFor) -> None:
    """SCH-27."""
    a_pool("turns", time_sharing=True, quantum_s=900)

    row = client_for(an_outsider_member()).get("/api/v1/pools/turns").json()

    assert (row["time_sharing"], row["quantum_s"]) == (True, 900)


def test_a_partition_is_seen_by_its_tenant_and_platform_roles_only(client_for: ClientFor) -> None:
    """W01."""
    tenant = a_tenant("ext-d")
    a_flavor("a100-80g@ext-d", pool=a_pool("ext", tenant=tenant))

    for reader, want in ((a_member_of(tenant), 200), (a_finance_user(), 200), (an_outsider_member(), 404)):
        client = client_for(reader)
        assert client.get("/api/v1/pools/ext").status_code == want
        assert client.get("/api/v1/flavors/a100-80g@ext-d").status_code == want
    stranger = client_for(an_outsider_member())
    assert stranger.get("/api/v1/flavors").json()["results"] == []
    assert code_of(stranger.get("/api/v1/pools/nowhere")) == (404, "not-found")


@pytest.mark.parametrize(("path", "queries"), [("/api/v1/flavors", 5), ("/api/v1/pools", 8)])
def test_lists_take_the_same_queries_for_any_number_of_rows(
    client_for: ClientFor, django_assert_num_queries: DjangoAssertNumQueries, path: str, queries: int
) -> None:
    for _number in range(5):
        a_node(flavor=a_flavor(pool=a_pool()))
    client = client_for(a_finance_user())
    client.get(path)

    with django_assert_num_queries(queries):
        client.get(path)
