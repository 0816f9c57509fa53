"""Pools on admin pages: turns of their jobs (SCH-27) are set there, within their range."""

from typing import Any

import pytest
from django.test import Client

from tenants.models import Pool
from tests.factories import a_platform_admin, a_pool
from tests.web.test_admin_money import texts

pytestmark = pytest.mark.django_db

LIST = "/admin/tenants/pool/"
NO_ROWS = {
    f"{table}-{of}_FORMS": "0"
    for table in ("maintenance_windows", "flavors", "capacities")
    for of in ("TOTAL", "INITIAL")
}


@pytest.fixture
def admin_client(client: Client) -> Client:
    client.force_login(a_platform_admin())
    return client


def body(pool: Pool, **changed: Any) -> dict[str, Any]:
    """What the form sends back; `time_sharing` is a box, which is not sent unless ticked."""
    names = ("name", "sharing", "factor_ppm", "high_ppm", "low_ppm", "cpu_headroom_m", "priority_share_ppm", "limit_ratio_ppm", "quantum_s")  # fmt: skip
    return {**{name: getattr(pool, name) for name in names}, "cluster": pool.cluster_id, **NO_ROWS, **changed}


def test_an_admin_lets_a_pools_jobs_take_turns(admin_client: Client) -> None:
    pool = a_pool("turns")
    assert (pool.time_sharing, pool.quantum_s) == (False, 1800)

    answer = admin_client.post(f"{LIST}{pool.pk}/change/", body(pool, time_sharing="on", quantum_s="900"))

    assert answer.status_code == 302
    pool.refresh_from_db()
    assert (pool.time_sharing, pool.quantum_s) == (True, 900)
    assert "Jobs take turns" in texts(admin_client, LIST)


@pytest.mark.parametrize(("seconds", "told"), [("59", "greater than or equal to 60"), ("86401", "less than or equal to 86400")])  # fmt: skip
def test_a_turn_out_of_range_is_told_beside_its_field(admin_client: Client, seconds: str, told: str) -> None:
    pool = a_pool()

    answer = admin_client.post(f"{LIST}{pool.pk}/change/", body(pool, quantum_s=seconds))

    assert answer.status_code == 200
    assert answer.context["adminform"].form.errors.keys() == {"quantum_s"}
    assert told in answer.content.decode()
    pool.refresh_from_db()
    assert pool.quantum_s == 1800
