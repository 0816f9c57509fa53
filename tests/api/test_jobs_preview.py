"""`POST /jobs/preview`."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from berth.common import clock
from scheduling.api.preview_schema import PreviewSchema
from scheduling.models import EffectivePrice, Job, Node
from tenants.models import Flavor
from tests.api.conftest import ClientFor
from tests.api.problems import code_of
from tests.factories import a_finance_user, a_flavor, a_job, a_lease, a_node, a_quota, a_run, an_outsider_member
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
PREVIEW = "/api/v1/jobs/preview"


def preview(client: Any, body: Any) -> dict[str, Any]:
    answer = client.post(PREVIEW, body)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def hold(world: World, node: Any, indexes: range) -> None:
    """Somebody of the same queue runs on these cards, without a declared end."""
    run = a_run(
        a_job(world.queue, user=world.member, state="running", gpu=len(indexes), flavor=world.flavor), state="running"
    )
    for slot, card in enumerate(node.cards.filter(index__in=indexes)):
        a_lease(run, card, slot=slot)


def test_a_job_that_fits_starts_now_and_is_drawn_card_by_card(client_for: ClientFor) -> None:
    world = a_world()
    EffectivePrice.objects.create(
        tenant=world.tenant, meter="card_hour", flavor=world.flavor, price=Decimal("12.50"), currency="CNY",
        published_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip

    with clock.frozen_at(datetime(2026, 11, 29, 10, tzinfo=UTC)):
        found = preview(
            client_for(world.member),
            world.body(roles=[world.role(resources={"gpu": 8})], expected_runtime=3600, max_runtime=7200),
        )

    assert (found["admissible"], found["problems"], found["wait"]) == (True, [], None)
    assert found["start"]["likely"] == "2026-11-29T10:00:00Z"
    assert found["cost"] == {"low": "100.00", "likely": "100.00", "high": "200.00", "currency": "CNY"}
    assert found["quota"] == {"nominal": {"gpu": 8}, "borrowed": {"gpu": 0}}
    [place] = found["placement"]
    assert (place["chosen"], place["pods"][0]["cards"]) == (True, [0, 1, 2, 3, 4, 5, 6, 7])
    assert set(found) == set(PreviewSchema().fields)
    assert not Job.objects.exists()


def test_flavors_that_could_never_hold_the_job_are_not_in_the_range_of_cost(client_for: ClientFor) -> None:
    """16 cards: only 8 of the dear kind exist, and the queue may have no more than 8 of the cheap one."""
    world = a_world()
    kinds = [(world.flavor, "12.50")]
    for price, nodes, limit in (("30.00", 1, None), ("5.00", 2, 0)):
        flavor = a_flavor(pool=world.flavor.pool, cards=8 * nodes)
        for _number in range(nodes):
            a_node(flavor=flavor)
        a_quota(world.queue, flavor=flavor, nominal=8, borrowing_limit=limit)
        kinds.append((flavor, price))
    for flavor, price in kinds:
        EffectivePrice.objects.create(
            tenant=world.tenant, meter="card_hour", flavor=flavor, price=Decimal(price), currency="CNY",
            published_at=datetime(2026, 1, 1, tzinfo=UTC),
        )  # fmt: skip
    client = client_for(world.member)

    wide = world.body(roles=[world.role(replicas=2, resources={"gpu": 8})], expected_runtime=3600, max_runtime=3600)
    narrow = world.body(expected_runtime=3600, max_runtime=3600)

    found = preview(client, wide)["cost"]
    assert found["low"] == "200.00"
    assert found["high"] == found["likely"], "one flavor is left, and the run time is known"
    assert [preview(client, narrow)["cost"][name] for name in ("low", "high")] == ["5.00", "30.00"]


def test_nobody_pays_for_longer_than_the_limit_however_slow_the_placement(client_for: ClientFor) -> None:
    """SCH-11: apart it takes 18 % longer, as far as the limit lets it; 8 cards at 12.50."""
    world = a_world(nodes=0, nominal=16)
    for name in ("n1", "n2"):
        node = a_node(name, flavor=world.flavor)
        hold(world, node, range(4))
    EffectivePrice.objects.create(
        tenant=world.tenant, meter="card_hour", flavor=world.flavor, price=Decimal("12.50"), currency="CNY",
        published_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    client = client_for(world.member)

    def range_of(**times: int) -> list[str]:
        body = world.body(roles=[world.role(replicas=2, resources={"gpu": 4})], **times)
        found = preview(client, body)
        assert [spot["slowdown_pct"] for spot in found["placement"] if spot["chosen"]] == [18]
        return [found["cost"][name] for name in ("low", "likely", "high")]

    assert range_of(expected_runtime=600, max_runtime=3600) == ["16.67", "19.67", "100.00"]
    assert range_of(expected_runtime=600, max_runtime=660) == ["16.67", "18.33", "18.33"]
    assert range_of(expected_runtime=600) == ["16.67", "19.67", "19.67"]
    assert range_of(max_runtime=3600)[2] == "100.00"


def test_both_ways_to_place_a_gang_are_offered_with_what_each_strands(client_for: ClientFor) -> None:
    """The placement scenario: 4 cards free on one node, 8 on another; two pods of four."""
    world = a_world(nodes=0, nominal=8)
    half = a_node("node3", flavor=world.flavor)
    a_node("node4", flavor=world.flavor)
    other = a_world(nodes=0, nominal=0)
    other.tenant.cohort = world.cohort
    other.tenant.save(update_fields=["cohort"])
    a_quota(other.queue, flavor=world.flavor, nominal=8)
    other.queue.pool = world.flavor.pool
    other.queue.save(update_fields=["pool"])
    run = a_run(a_job(other.queue, state="running", gpu=4, flavor=world.flavor), state="running")
    for slot, card in enumerate(half.cards.filter(index__lt=4)):
        a_lease(run, card, slot=slot)

    found = preview(client_for(world.member), world.body(roles=[world.role(replicas=2, resources={"gpu": 4})]))

    one, two = found["placement"]
    assert ({pod["node"] for pod in one["pods"]}, one["chosen"], one["slowdown_pct"], one["strands"]) == (
        {"node4"}, True, 0, {"nodes": 0, "cards": 0},
    )  # fmt: skip
    assert ({pod["node"] for pod in two["pods"]}, two["chosen"], two["slowdown_pct"], two["strands"]) == (
        {"node3", "node4"}, False, 18, {"nodes": 1, "cards": 4},
    )  # fmt: skip
    name = f"{other.tenant.slug}/{other.queue.name}"
    assert two["note"] == (
        "18 % slower: its pods are apart. It strands 4 cards on 1 node."
        f" {name} has 4 cards of its nominal quota left; of these it would then find 4 cards on one node."
    )
    assert one["note"].startswith("Chosen:")


def test_a_job_that_must_wait_says_why_and_what_would_help(client_for: ClientFor) -> None:
    world = a_world(nodes=1, nominal=8)
    hold(world, world.flavor.nodes.get(), range(8))

    found = preview(client_for(world.member), world.body(roles=[world.role(resources={"gpu": 4})]))

    assert (found["admissible"], found["placement"]) == (True, [])
    assert found["wait"]["short"]["gpu"] == 4
    assert found["start"] == {"earliest": None, "likely": None, "latest": None, "why_not": "no-run-times"}
    assert len(found["suggestions"]) == 1


def test_bad_and_impossible_bodies_are_inadmissible_with_every_problem(client_for: ClientFor) -> None:
    world = a_world()
    client = client_for(world.member)

    wrong = preview(client, {"tenant": world.tenant.slug, "queue": world.queue.name, "priority": -1})
    impossible = preview(client, world.body(roles=[world.role(resources={"gpu": 9})]))

    assert {problem["field"] for problem in wrong["problems"]} == {"name", "roles", "priority"}
    assert [problem["code"] for problem in impossible["problems"]] == ["impossible"]
    assert (impossible["admissible"], impossible["start"], impossible["cost"]) == (False, None, None)


def test_a_foreign_tenant_is_not_found_and_finance_may_not_preview(client_for: ClientFor) -> None:
    """W03."""
    world = a_world()

    assert code_of(client_for(an_outsider_member()).post(PREVIEW, world.body())) == (404, "not-found")
    assert code_of(client_for(a_finance_user()).post(PREVIEW, world.body())) == (403, "forbidden")


def test_an_instance_is_drawn_beside_its_neighbours_and_costs_its_sevenths(client_for: ClientFor) -> None:
    """SCH-13: three sevenths of a card for an hour of 21.00 are 9.00."""
    world = a_world(nodes=1)
    Flavor.objects.filter(pk=world.flavor.pk).update(mode="mig", mig_profile="3g.40gb", vram_mib=40 * 1024)
    EffectivePrice.objects.create(
        tenant=world.tenant, meter="card_hour", flavor=world.flavor, price=Decimal("21.00"), currency="CNY",
        published_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    node = Node.objects.get()
    running = a_job(world.queue, user=world.member, state="running", gpu=1, flavor=world.flavor)
    a_lease(a_run(running, state="running"), node.cards.get(index=0), quantity=3000)
    client = client_for(world.member)

    with clock.frozen_at(datetime(2026, 11, 29, 10, tzinfo=UTC)):
        body = world.body(roles=[world.role(resources={"gpu": 2})], expected_runtime=3600, max_runtime=3600)
        found = preview(client, body)

    assert (found["admissible"], found["wait"]) == (True, None)
    assert found["cost"] == {"low": "18.00", "likely": "18.00", "high": "18.00", "currency": "CNY"}
    assert found["quota"] == {"nominal": {"gpu": 2}, "borrowed": {"gpu": 0}}
    assert [pod["cards"] for pod in found["placement"][0]["pods"]] == [[0, 1]]
    assert found["placement"][0]["strands"] == {"nodes": 0, "cards": 0}


def test_a_share_is_drawn_on_the_card_it_would_share_and_costs_its_part(client_for: ClientFor) -> None:
    """SCH-13: half a card for an hour of 12.50 is 6.25."""
    world = a_world()
    Flavor.objects.filter(pk=world.flavor.pk).update(mode="any")
    EffectivePrice.objects.create(
        tenant=world.tenant, meter="card_hour", flavor=world.flavor, price=Decimal("12.50"), currency="CNY",
        published_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    node = Node.objects.order_by("pk").first()
    assert node is not None
    run = a_run(a_job(world.queue, user=world.member, state="running", gpu="0.4", flavor=world.flavor), state="running")
    a_lease(run, node.cards.get(index=3), quantity=2800)

    with clock.frozen_at(datetime(2026, 11, 29, 10, tzinfo=UTC)):
        found = preview(
            client_for(world.member),
            world.body(roles=[world.role(resources={"gpu": 0.5})], expected_runtime=3600, max_runtime=3600),
        )

    assert (found["admissible"], found["wait"]) == (True, None)
    assert found["cost"] == {"low": "6.25", "likely": "6.25", "high": "6.25", "currency": "CNY"}
    assert found["quota"] == {"nominal": {"gpu": 0.5}, "borrowed": {"gpu": 0}}
    assert [pod["cards"] for pod in found["placement"][0]["pods"]] == [[3]]


def test_the_fastest_and_the_cheapest_cards_are_offered_with_end_and_cost(client_for: ClientFor) -> None:
    """SCH-20: an hour of work takes half an hour on cards of speed 2; those cost 30.00 an hour, the others 12.50."""
    world = a_world()
    quick = a_flavor("quick", pool=world.queue.pool, speed_ppm=2_000_000)
    a_node(flavor=quick)
    a_quota(world.queue, flavor=quick, nominal=8)
    for flavor, price in ((world.flavor, "12.50"), (quick, "30.00")):
        EffectivePrice.objects.create(
            tenant=world.tenant, meter="card_hour", flavor=flavor, price=Decimal(price), currency="CNY",
            published_at=datetime(2026, 1, 1, tzinfo=UTC),
        )  # fmt: skip
    role = world.role(resources={"gpu": 8, "flavors": [world.flavor.name, "quick"]})

    with clock.frozen_at(datetime(2026, 11, 29, 10, tzinfo=UTC)):
        fast, cheap, hurried = (
            preview(client_for(world.member), world.body(roles=[role], expected_runtime=3600, **more))
            for more in ({}, {"objective": "cheapest"}, {"objective": "cheapest", "deadline": "2026-11-29T10:40:00Z"})
        )

    assert [found["placement"][0]["pods"][0]["node"] for found in (fast, cheap, hurried)] == [
        Node.objects.filter(flavor=flavor).earliest("id").name for flavor in (quick, world.flavor, quick)
    ]
    assert [found["cost"]["likely"] for found in (fast, cheap, hurried)] == ["120.00", "100.00", "120.00"]
    assert {(found["cost"]["low"], found["cost"]["high"]) for found in (fast, cheap, hurried)} == {("100.00", "120.00")}
    assert [(each["objectives"], each["runtime_s"], each["cost"], each["in_time"]) for each in hurried["choices"]] == [
        (["fastest"], 1800, "120.00", True),
        (["cheapest"], 3600, "100.00", False),
    ]
    assert [[each["chosen"] for each in found["choices"]] for found in (fast, cheap)] == [[True, False], [False, True]]
