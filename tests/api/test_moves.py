"""`/pools/{name}/moves`: what would free whole nodes (SCH-24), shown to platform admins; nothing is moved."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from berth.common import clock
from scheduling.models import Card, Job, Lease, Node, Run
from scheduling.states import JobState, RunState
from tenants.models import Flavor, Queue
from tests.api.conftest import ClientFor
from tests.factories import (
    a_flavor,
    a_job,
    a_lease,
    a_node,
    a_platform_admin,
    a_pool,
    a_queue,
    a_run,
    a_tenant,
    an_outsider_member,
)

pytestmark = pytest.mark.django_db
MOVES = "/api/v1/pools/shared/moves"


@pytest.fixture
def flavor() -> Flavor:
    """Three nodes of two cards each, the last of them empty."""
    flavor = a_flavor("a100", pool=a_pool("shared"))
    for name in ("n1", "n2", "n3"):
        a_node(name, flavor=flavor, gpus=2)
    return flavor


@pytest.fixture
def queue(flavor: Flavor) -> Queue:
    return a_queue(tenant=a_tenant("algo"), pool=flavor.pool, name="dev", default_tier="development")


def running(queue: Queue, node: str, **fields: Any) -> Job:
    """A job of one card on a node, which has written a checkpoint ten minutes ago."""
    values: dict[str, Any] = {"state": JobState.RUNNING.value, "runs_count": 1, "checkpoint_path": "/ckpt", **fields}
    job = a_job(queue, name=f"on-{node}", **values)
    saved = clock.now()
    run: Run = a_run(job, state=RunState.RUNNING.value, started_at=saved, checkpoint_at=saved)
    card = Card.objects.filter(node__name=node).earliest("index")
    a_lease(run, card, cpu_m=8000, memory_mib=65536)
    return job


def test_half_a_node_moves_beside_another(client_for: ClientFor, queue: Queue) -> None:
    """Case 73."""
    first, _second = running(queue, "n1"), running(queue, "n2")
    before = list(Lease.objects.values()), list(Job.objects.values())

    answer = client_for(a_platform_admin()).get(MOVES).json()

    assert (answer["pool"], len(answer["nodes"])) == ("shared", 1)
    [node] = answer["nodes"]
    assert node == {
        "node": "n1", "cards": 2, "moved_cards": 1, "lost_card_seconds": node["lost_card_seconds"],
        "moves": [{
            "job": first.pk, "name": "on-n1", "tenant": "algo", "queue": "dev", "role": "worker", "index": 0,
            "from_node": "n1", "to_node": "n2", "cards": 1,
        }],
    }  # fmt: skip
    assert 0 <= node["lost_card_seconds"] < 60
    assert (list(Lease.objects.values()), list(Job.objects.values())) == before, "nothing is moved"


@pytest.mark.parametrize("fields", [{"tier": "production"}, {"checkpoint_path": ""}], ids=["production", "no checkpoints"])  # fmt: skip
def test_where_nobody_may_move_nothing_is_proposed(client_for: ClientFor, queue: Queue, fields: dict[str, str]) -> None:
    for node in ("n1", "n2"):
        running(queue, node, **fields)

    assert client_for(a_platform_admin()).get(MOVES).json()["nodes"] == []


def test_other_pools_are_not_in_it(client_for: ClientFor, queue: Queue) -> None:
    running(queue, "n1")
    running(queue, "n2")
    a_pool("quiet")

    assert client_for(a_platform_admin()).get("/api/v1/pools/quiet/moves").json()["nodes"] == []


def test_who_may_see_them(client_for: ClientFor, flavor: Flavor) -> None:
    """W01: a pool that one sees, without the role, is 403; one that one does not see is 404."""
    a_pool("ext", tenant=a_tenant("ext-d"))
    stranger = client_for(an_outsider_member())

    assert client_for(a_platform_admin()).get(MOVES).status_code == 200
    assert stranger.get(MOVES).status_code == 403
    assert stranger.get("/api/v1/pools/ext/moves").status_code == 404


def test_queries_do_not_grow_with_the_moves(client_for: ClientFor, queue: Queue, flavor: Flavor) -> None:
    client, counts = client_for(a_platform_admin()), []
    client.get(MOVES)
    for nodes in (("n1", "n2"), ("n4", "n5", "n6", "n7")):
        for name in nodes:
            if not Node.objects.filter(name=name).exists():
                a_node(name, flavor=flavor, gpus=2)
            running(queue, name)
        with CaptureQueriesContext(connection) as counted:
            assert client.get(MOVES).json()["nodes"]
        counts.append(len(counted))

    assert counts[0] == counts[1]
