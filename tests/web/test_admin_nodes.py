"""Nodes on admin pages: one in service was there when its cluster answered last, as REST tells it."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from berth.common import clock
from tenants.models import Cluster, Flavor
from tests.factories import a_flavor, a_node, a_platform_admin
from tests.web.test_admin_money import texts

pytestmark = pytest.mark.django_db

WRITTEN = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
ANSWERED = WRITTEN + timedelta(hours=5)
LIST = "/admin/scheduling/node/"


@pytest.fixture
def admin_client(client: Client) -> Client:
    client.force_login(a_platform_admin())
    return client


@pytest.fixture
def flavor() -> Flavor:
    flavor = a_flavor()
    Cluster.objects.filter(pk=flavor.pool.cluster_id).update(last_listed_at=ANSWERED)
    return flavor


@pytest.mark.parametrize(
    ("state", "want"), [("ready", "2026-03-01 14:00"), ("lost", "2026-03-01 09:00")], ids=["in service", "lost"]
)
def test_the_last_sign_of_a_node_in_service_is_its_clusters_last_answer(
    admin_client: Client, flavor: Flavor, state: str, want: str
) -> None:
    node = a_node(flavor=flavor, state=state, last_sign_at=WRITTEN)

    shown = texts(admin_client, f"{LIST}{node.pk}/change/")

    assert f" {want} " in texts(admin_client, LIST)
    assert f"Last sign of life {want} " in shown
    assert shown.count("Last sign of life") == 1


def test_what_is_not_known_is_a_dash_in_every_column(admin_client: Client) -> None:
    a_node("new")

    rows = texts(admin_client, LIST)

    assert re.search(r" new .* no no – – ", rows)  # cordoned, draining, quarantined until, last sign of life


def test_the_list_is_sorted_by_what_it_shows(admin_client: Client, flavor: Flavor) -> None:
    a_node("silent", flavor=flavor, state="lost", last_sign_at=WRITTEN + timedelta(hours=2))
    a_node("in-service", flavor=flavor, last_sign_at=WRITTEN)
    head = re.search(r'href="\?o=(\d+)[^"]*">\s*Last sign of life', admin_client.get(LIST).content.decode())
    assert head is not None

    rows = texts(admin_client, f"{LIST}?o=-{head[1]}")

    assert rows.index(" in-service ") < rows.index(" silent ")


def test_more_nodes_are_no_more_queries(admin_client: Client, flavor: Flavor) -> None:
    counts = []
    # Held still, so that a process whose copy of the clock's anchor grew old asks for it in neither of the two.
    with clock.frozen_at(WRITTEN + timedelta(days=1)):
        for more in (1, 5):
            for _node in range(more):
                a_node(flavor=flavor, last_sign_at=WRITTEN)
            admin_client.get(LIST)
            with CaptureQueriesContext(connection) as queries:
                admin_client.get(LIST)
            counts.append(len(queries))

    assert counts[0] == counts[1]
