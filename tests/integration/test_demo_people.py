"""The demo's people: who they are and that they come in at once, however far business time has run ahead."""

import json
import threading
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from berth import environment
from berth.common import clock
from berth.demo import bootstrap as bootstrap_module
from berth.demo.bootstrap import demo_url
from berth.demo.people import create_people
from tenants.models import Tenant
from tenants.permissions import Role, roles_of
from tests.factories import a_tenant

pytestmark = pytest.mark.django_db


def test_people_belong_to_their_tenants_also_where_business_time_is_months_ahead() -> None:
    """Memberships follow wall time; a demo that ran at ×60 for a day and is loaded anew is two months ahead of it."""
    tenant = a_tenant("algo-a")

    with clock.frozen_at(clock.wall_now() + timedelta(days=60)):
        people = create_people(list(Tenant.objects.all()), since=clock.now() - timedelta(days=1))

    assert [(each.username, each.role) for each in people][2:] == [
        ("algo-a-admin", "tenant-admin"),
        ("algo-a-member", "tenant-member"),
    ]
    member = tenant.memberships.get(user__username="algo-a-member").user
    assert roles_of(member, tenant) == {Role.TENANT_MEMBER}


def test_sign_ins_name_the_pages_of_the_platform_that_runs_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`bootstrap_demo` in another terminal knows the port that `make run` was given."""
    noted = tmp_path / "services.json"
    monkeypatch.setattr(environment, "SERVICES_FILE", noted)
    assert demo_url() == f"http://127.0.0.1:{settings.BERTH_PORT}"

    noted.write_text(json.dumps({"url": "http://127.0.0.1:8123"}))

    assert demo_url() == "http://127.0.0.1:8123"


@pytest.mark.django_db(transaction=True)
def test_everything_is_replaced_although_somebody_is_reading() -> None:
    a_tenant("old")
    wanted = connection.settings_dict
    address = {"host": wanted["HOST"], "port": wanted["PORT"], "user": wanted["USER"], "password": wanted["PASSWORD"]}
    reader = psycopg.connect(dbname=wanted["NAME"], **address)
    reader.execute("SELECT 1 FROM tenants_tenant FOR SHARE")
    letting_go = threading.Timer(1.2, reader.close)
    letting_go.start()

    bootstrap_module._empty()

    assert not Tenant.objects.exists()
    letting_go.join(timeout=10)
