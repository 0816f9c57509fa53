"""`/notifications`."""

import pytest

from tenants.services.notifications import notify
from tests.api.conftest import ClientFor
from tests.api.problems import wrong_fields
from tests.factories import a_member_of, a_platform_admin, a_tenant

pytestmark = pytest.mark.django_db

URL = "/api/v1/notifications"


def test_one_reads_what_is_to_oneself_or_to_all_of_a_tenant(client_for: ClientFor) -> None:
    tenant = a_tenant()
    reader, colleague = a_member_of(tenant), a_member_of(tenant)
    notify(code="to-all", tenant=tenant)
    notify(code="to-me", tenant=tenant, user=reader)
    notify(code="to-colleague", tenant=tenant, user=colleague)
    notify(code="to-others", tenant=a_tenant())

    assert [row["code"] for row in client_for(reader).get(URL).json()["results"]] == ["to-me", "to-all"]


def test_a_platform_admin_reads_no_personal_message_of_others(client_for: ClientFor) -> None:
    tenant = a_tenant()
    notify(code="private", tenant=tenant, user=a_member_of(tenant))

    assert client_for(a_platform_admin()).get(URL).json()["results"] == []


def test_reading_is_noted_only_for_what_one_may_see(client_for: ClientFor) -> None:
    tenant = a_tenant()
    reader = a_member_of(tenant)
    mine, theirs = notify(code="mine", user=reader), notify(code="theirs", tenant=a_tenant())
    client = client_for(reader)

    answer = client.post(URL, {"read": [mine.pk, theirs.pk]})

    assert answer.json() == {"marked": 1}
    assert client.get(URL).json()["results"][0]["read_at"] is not None
    theirs.refresh_from_db()
    assert theirs.read_at is None


def test_wrong_bodies_are_told_by_field(client_for: ClientFor) -> None:
    answer = client_for(a_member_of(a_tenant())).post(URL, {"read": [0, "x", 2**70], "all": True})

    assert wrong_fields(answer) == {
        "read[0]": "min-value",
        "read[1]": "invalid",
        "read[2]": "max-value",
        "all": "unknown-field",
    }
