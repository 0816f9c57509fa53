"""The demo's people: who they are and that they come in at once, however far business time has run ahead."""

from datetime import timedelta

import pytest

from berth.common import clock
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
