"""The admin's page of moves that would free whole nodes (SCH-24), reached from the list of nodes."""

import pytest
from django.test import Client

from berth.common import clock
from scheduling.models import Card
from scheduling.states import JobState, RunState
from tests.factories import (
    a_finance_user,
    a_flavor,
    a_job,
    a_lease,
    a_node,
    a_platform_admin,
    a_pool,
    a_queue,
    a_run,
    a_tenant,
)
from tests.web.test_admin_money import texts

pytestmark = pytest.mark.django_db
LIST, PAGE = "/admin/scheduling/node/", "/admin/scheduling/node/moves/"


@pytest.fixture
def two_halves() -> None:
    flavor = a_flavor("a100", pool=a_pool("shared"))
    queue = a_queue(tenant=a_tenant("algo"), pool=flavor.pool, name="dev", default_tier="development")
    for name in ("n1", "n2"):
        a_node(name, flavor=flavor, gpus=2)
        job = a_job(queue, name=f"on-{name}", state=JobState.RUNNING.value, runs_count=1, checkpoint_path="/ckpt")
        run = a_run(job, state=RunState.RUNNING.value, started_at=clock.now())
        a_lease(run, Card.objects.filter(node__name=name).earliest("index"), cpu_m=8000, memory_mib=65536)


def test_the_list_of_nodes_leads_to_the_moves(client: Client, two_halves: None) -> None:
    client.force_login(a_platform_admin())

    assert PAGE in client.get(LIST).content.decode()
    shown = texts(client, PAGE)

    assert "1 node with 2 cards would be free; cards that move: 1." in shown
    assert "n1 2 on-n1 (algo/dev) 1 n2 0.00" in shown
    assert "Nothing is moved from this page." in shown


def test_it_says_so_where_nothing_would_help(client: Client) -> None:
    client.force_login(a_platform_admin())

    assert "No moves of small jobs would free a whole node now." in texts(client, PAGE)


def test_it_speaks_chinese(client: Client, two_halves: None) -> None:
    reader = a_platform_admin()
    reader.language = "zh-hans"
    reader.save(update_fields=["language"])
    client.force_login(reader)

    shown = texts(client, PAGE)

    assert "迁移 1 张卡可腾出 1 个节点，共 2 张卡。" in shown
    assert "Moves" not in shown.replace("on-n1", "")


def test_others_do_not_see_it(client: Client, two_halves: None) -> None:
    """Finance reads nodes and moves nothing."""
    client.force_login(a_finance_user())

    assert PAGE not in client.get(LIST).content.decode()
    assert client.get(PAGE).status_code == 403
