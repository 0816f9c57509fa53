"""The admin has no door of its own: wrong passwords are counted at one place, and after a few of them the right one waits too."""

import re

import pytest
from django.core.cache import cache
from django.test import Client

from tenants.models import Cluster, Flavor, Pool, Quota
from tests.factories import a_platform_admin, a_user
from tests.factories.people import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nobody_tried_before() -> None:
    cache.clear()


def test_the_admin_sends_to_the_platforms_sign_in_and_back(client: Client) -> None:
    answer = client.get("/admin/tenants/tenant/", follow=True)

    assert answer.redirect_chain[-1] == ("/accounts/login/?next=%2Fadmin%2Ftenants%2Ftenant%2F", 302)


def test_the_admin_bears_berths_name_and_mark(client: Client) -> None:
    client.force_login(a_platform_admin())

    page = client.get("/admin/").content.decode()

    assert "Berth administration" in page
    assert re.search(r'<link rel="icon" href="/static/icons/berth[^"]*svg"', page)


@pytest.mark.parametrize(
    ("resource", "amount", "want"),
    [("gpu", 128_000, "128 cards"), ("cpu", 1500, "1.5 CPU cores"), ("memory", 2048, "2 GiB memory")],
)
def test_a_quota_line_is_named_in_peoples_units(resource: str, amount: int, want: str) -> None:
    assert str(Quota(resource=resource, nominal=amount)) == want


def test_lists_of_supply_tell_ratios_and_gib(client: Client) -> None:
    pool = Pool.objects.create(name="shared", cluster=Cluster.objects.create(name="c1"))
    Flavor.objects.create(name="a100", pool=pool, card_model="A100", vram_mib=80 * 1024)
    client.force_login(a_platform_admin())

    pools, flavors = (client.get(f"/admin/tenants/{name}/").content.decode() for name in ("pool", "flavor"))

    assert re.search(r"field-vram[^>]*>\s*80\b", flavors)
    assert "field-factor" in pools
    assert "1000000" not in pools + flavors


@pytest.mark.parametrize("next_url", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)"])
def test_nobody_is_sent_elsewhere(client: Client, next_url: str) -> None:
    answer = client.get("/admin/login/", {"next": next_url})

    assert answer.headers["Location"] == "/accounts/login/?next=%2Fadmin%2F"


def test_a_password_sent_to_the_admins_address_is_not_looked_at(client: Client) -> None:
    admin = a_platform_admin()

    answer = client.post("/admin/login/", {"username": admin.username, "password": PASSWORD})

    assert answer.headers["Location"].startswith("/accounts/login/")
    assert "_auth_user_id" not in client.session


def test_after_a_few_wrong_passwords_the_right_one_waits_at_the_admin_too(client: Client) -> None:
    admin = a_platform_admin()
    door = client.get("/admin/login/").headers["Location"]
    for _attempt in range(12):
        client.post(door, {"login": admin.username, "password": "not it"})

    client.post(door, {"login": admin.username, "password": PASSWORD})

    assert "_auth_user_id" not in client.session


def test_whoever_is_signed_in_goes_on_or_is_told_no(client: Client) -> None:
    client.force_login(a_platform_admin())
    assert (
        client.get("/admin/login/", {"next": "/admin/tenants/tenant/"}).headers["Location"] == "/admin/tenants/tenant/"
    )

    client.force_login(a_user())
    assert client.get("/admin/login/").status_code == 403
