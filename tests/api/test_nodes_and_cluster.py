"""`/nodes`, `/cluster`, `/cycles`, `/reservations` and `POST /runs/{id}/report`."""

from datetime import UTC, datetime, timedelta

import pytest

from berth.common import clock
from scheduling.api.cluster import ClusterSchema
from scheduling.api.nodes import NodeSchema
from scheduling.models import Cycle, Node, Reservation, Run
from scheduling.services.run_reports import token_digest
from scheduling.services.submit import submit_job
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import (
    a_flavor,
    a_job,
    a_lease,
    a_node,
    a_platform_admin,
    a_pool,
    a_run,
    a_tenant,
    an_outsider_member,
)
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 29, 10, tzinfo=UTC)
ORDERS = ["fail", "recover", "cordon", "uncordon", "drain", "cards/0/fail", "cards/0/recover"]


def test_a_node_tells_its_cards_what_is_free_and_where_it_sits(client_for: ClientFor) -> None:
    world = a_world(nodes=1)
    node = world.flavor.nodes.get()
    run = a_run(a_job(world.queue, state="running", flavor=world.flavor), state="running")
    a_lease(run, node.cards.get(index=0), cpu_m=16_000, memory_mib=64 * 1024)

    found = client_for(world.member).get(f"/api/v1/nodes/{node.cluster.name}/{node.name}").json()

    assert found["capacity"] == {"gpu": 8, "cpu": 128, "memory_gib": 1024}
    assert found["free"] == {"gpu": 7, "cpu": 112, "memory_gib": 960}
    assert (found["state"], found["topology"], found["cards"][0]["held"]) == ("ready", {"rack": "r0"}, 1)
    assert set(found) == set(NodeSchema().fields)


def test_a_cordoned_node_has_nothing_free(client_for: ClientFor) -> None:
    world = a_world(nodes=0)
    node = a_node(flavor=world.flavor, cordoned=True)

    found = client_for(world.member).get(f"/api/v1/nodes/{node.cluster.name}/{node.name}").json()

    assert (found["state"], found["free"]["gpu"], found["capacity"]["gpu"]) == ("cordoned", 0, 8)


def test_a_node_in_quarantine_tells_until_when_and_why_and_an_admin_ends_it(client_for: ClientFor) -> None:
    """F26."""
    world = a_world(nodes=0)
    node = a_node(flavor=world.flavor, quarantined_until=clock.now() + timedelta(minutes=5), flaps=4)
    address = f"/api/v1/nodes/{node.cluster.name}/{node.name}"

    found = client_for(world.member).get(address).json()

    assert (found["state"], found["free"]["gpu"], found["quarantine"]["flaps"]) == ("quarantined", 0, 4)
    assert found["quarantine"]["reason"] == "Lost contact 4 times within ten minutes."
    Node.objects.update(quarantined_until=clock.now() - timedelta(seconds=1))
    assert client_for(world.member).get(address).json()["quarantine"] is None


def test_a_card_that_stands_for_one_without_a_name_says_so(client_for: ClientFor) -> None:
    world = a_world(nodes=1)
    node = world.flavor.nodes.get()
    node.cards.filter(index=7).update(health="failed", failed_by="counted", failed_at=AT)

    cards = client_for(world.member).get(f"/api/v1/nodes/{node.cluster.name}/{node.name}").json()["cards"]

    assert [(card["health"], card["failed_by"]) for card in cards[6:]] == [("ok", None), ("failed", "counted")]


def test_the_partition_of_another_tenant_is_not_seen(client_for: ClientFor) -> None:
    """W01, W02."""
    world = a_world(nodes=1)
    theirs = a_node(flavor=a_flavor(pool=a_pool(tenant=a_tenant())))
    client = client_for(world.member)

    assert code_of(client.get(f"/api/v1/nodes/{theirs.cluster.name}/{theirs.name}")) == (404, "not-found")
    assert [row["name"] for row in client.get("/api/v1/nodes").json()["results"]] == [world.flavor.nodes.get().name]
    assert theirs.pool.name not in [pool["name"] for pool in client.get("/api/v1/cluster").json()["pools"]]


def test_a_node_in_service_was_seen_when_its_cluster_last_answered(client_for: ClientFor) -> None:
    """Rows of nodes are written when they change; of a lost one only its own last sign counts."""
    world = a_world(nodes=2)
    ready, lost = world.flavor.nodes.order_by("pk")
    Node.objects.filter(flavor=world.flavor).update(last_sign_at=AT)
    Node.objects.filter(pk=lost.pk).update(state="lost", lost_at=AT)
    address = f"/api/v1/nodes/{ready.cluster.name}"
    client = client_for(world.member)

    unlisted = client.get(f"{address}/{ready.name}").json()["last_sign_at"]
    type(ready.cluster).objects.update(last_listed_at=AT + timedelta(hours=17))

    assert unlisted == "2026-11-29T10:00:00Z"
    assert client.get(f"{address}/{ready.name}").json()["last_sign_at"] == "2026-11-30T03:00:00Z"
    assert client.get(f"{address}/{lost.name}").json()["last_sign_at"] == "2026-11-29T10:00:00Z"


@pytest.mark.parametrize("order", ORDERS)
def test_only_a_platform_admin_gives_orders_to_nodes(client_for: ClientFor, order: str) -> None:
    world = a_world(nodes=1)
    node = world.flavor.nodes.get()

    answer = client_for(world.admin).post(f"/api/v1/nodes/{node.cluster.name}/{node.name}/{order}")

    assert code_of(answer) == (403, "forbidden")


def test_an_order_to_a_node_or_card_that_is_not_there_is_404(client_for: ClientFor) -> None:
    world = a_world(nodes=1)
    node = world.flavor.nodes.get()
    admin = client_for(a_platform_admin())

    assert code_of(admin.post(f"/api/v1/nodes/{node.cluster.name}/nowhere/fail")) == (404, "not-found")
    assert code_of(admin.post(f"/api/v1/nodes/{node.cluster.name}/{node.name}/cards/99/fail")) == (404, "not-found")


def test_the_cluster_tells_how_busy_it_is_and_what_waits(client_for: ClientFor) -> None:
    world = a_world(nodes=1, nominal=8)
    run = a_run(a_job(world.queue, state="running", gpu=2, flavor=world.flavor), state="running")
    for slot, card in enumerate(world.flavor.nodes.get().cards.filter(index__lt=2)):
        a_lease(run, card, slot=slot)
    submit_job(world.member, world.body(roles=[world.role(resources={"gpu": 4})]))

    found = client_for(world.member).get("/api/v1/cluster").json()

    [flavor] = found["pools"][0]["flavors"]
    assert (flavor["capacity"], flavor["held"], flavor["free"], flavor["pending"], flavor["busy"]) == (8, 2, 6, 4, 0.25)
    assert (found["busy"], found["pending_cards"], found["degraded"]) == (0.25, 4, False)
    assert found["jobs"] == {"queued": 1, "running": 1}
    assert set(found) == set(ClusterSchema().fields)


def test_cycles_are_listed_newest_first_and_read_one_by_one(client_for: ClientFor) -> None:
    one, two = (
        Cycle.objects.create(
            epoch=1, at=AT, wall_at=AT, duration_ms=ms, admitted=1, waiting=2, by_reason={"cards-busy": 2}
        )
        for ms in (5, 6)
    )
    client = client_for(a_world().member)

    assert [row["id"] for row in client.get("/api/v1/cycles").json()["results"]] == [two.pk, one.pk]
    found = client.get(f"/api/v1/cycles/{one.pk}").json()
    assert (found["duration_ms"], found["by_reason"], found["replayable"]) == (5, {"cards-busy": 2}, False)
    assert code_of(client.get(f"/api/v1/cycles/{two.pk + 1}")) == (404, "not-found")


def test_a_platform_admin_reserves_by_hand_and_the_tenant_sees_it(client_for: ClientFor) -> None:
    world = a_world()
    body = {
        "flavor": world.flavor.name,
        "amount": 4,
        "queue": f"{world.tenant.slug}/{world.queue.name}",
        "from": "2026-12-01T00:00:00Z",
        "to": "2026-12-02T00:00:00Z",
    }

    made = client_for(a_platform_admin()).post("/api/v1/reservations", body)

    assert made.status_code == 201, made.content
    [seen] = client_for(world.member).get("/api/v1/reservations").json()["results"]
    assert (seen["amount"], seen["from"], seen["queue"]) == (4, "2026-12-01T00:00:00Z", world.queue.name)
    assert client_for(an_outsider_member()).get("/api/v1/reservations").json()["results"] == []
    assert code_of(client_for(world.admin).post("/api/v1/reservations", body)) == (403, "forbidden")


def test_a_platform_admin_releases_a_reservation_once(client_for: ClientFor) -> None:
    """SCH-18. What the cycle keeps for a job is the cycle's own to let go."""
    world, now = a_world(), clock.now()
    row = Reservation.objects.create(
        kind="forecast", queue=world.queue, flavor=world.flavor, from_at=now, created_at=now
    )
    kept = Reservation.objects.create(kind="kept-for-job", job=a_job(world.queue), from_at=now, created_at=now)
    admin, path = client_for(a_platform_admin()), f"/api/v1/reservations/{row.pk}/release"

    assert code_of(client_for(world.member).post(path)) == (403, "forbidden")
    assert code_of(client_for(an_outsider_member()).post(path)) == (404, "not-found")
    assert admin.post(path).json()["released_at"] is not None
    assert code_of(admin.post(path)) == (409, "conflict")
    assert code_of(admin.post(f"/api/v1/reservations/{kept.pk}/release")) == (409, "conflict")


def a_reporting_run(world: World) -> Run:
    return a_run(a_job(world.queue, state="running"), state="running", token_digest=token_digest("the-token"))


def test_a_run_reports_its_progress_and_checkpoints_with_its_token(client_for: ClientFor) -> None:
    run = a_reporting_run(a_world())
    client = client_for(None)
    client.credentials(HTTP_AUTHORIZATION="Bearer the-token")

    answer = client.post(
        f"/api/v1/runs/{run.pk}/report",
        {"progress": 0.25, "step": 10, "loss": 1.5, "checkpoint": {"state": "done", "path": "/ckpt/r1"}},
    )

    run.refresh_from_db()
    assert answer.status_code == 200, answer.content
    assert (run.progress_ppm, run.step, run.checkpoint_state, run.checkpoint_path) == (250_000, 10, "done", "/ckpt/r1")
    assert run.checkpoint_at == run.reported_at
    assert answer.json()["progress"] == 0.25


def test_a_report_with_another_token_or_with_wrong_fields_changes_nothing(client_for: ClientFor) -> None:
    run = a_reporting_run(a_world())
    client = client_for(None)

    assert client.post(f"/api/v1/runs/{run.pk}/report", {"progress": 1}).status_code == 401
    client.credentials(HTTP_AUTHORIZATION="Bearer another")
    assert client.post(f"/api/v1/runs/{run.pk}/report", {"progress": 1}).status_code == 401
    client.credentials(HTTP_AUTHORIZATION="Bearer the-token")
    wrong = client.post(
        f"/api/v1/runs/{run.pk}/report", {"progress": 2, "state": "ended", "checkpoint": {"path": "/x"}}
    )
    assert wrong_fields(wrong) == {"progress": "range", "state": "unknown-field", "checkpoint.state": "required"}
    assert Run.objects.get(pk=run.pk).progress_ppm is None


def test_a_run_that_has_ended_is_not_listened_to(client_for: ClientFor) -> None:
    """F25."""
    run = a_run(a_job(a_world().queue), state="ended", ended_at=AT, token_digest=token_digest("the-token"))
    client = client_for(None)
    client.credentials(HTTP_AUTHORIZATION="Bearer the-token")

    assert code_of(client.post(f"/api/v1/runs/{run.pk}/report", {"progress": 1})) == (409, "run-ended")
