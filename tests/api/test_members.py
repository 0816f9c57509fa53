"""`/tenants/{slug}/members`."""

import pytest
from pytest_django import DjangoAssertNumQueries

from tenants.models import ApiToken, Membership
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_member_of, a_membership, a_tenant, a_user, an_admin_of, an_outsider_member

pytestmark = pytest.mark.django_db

URL = "/api/v1/tenants/algo-a/members"


def test_a_member_sees_who_else_belongs(client_for: ClientFor) -> None:
    tenant = a_tenant("algo-a")
    admin, member = an_admin_of(tenant), a_member_of(tenant)
    an_outsider_member()

    rows = client_for(member).get(URL).json()["results"]

    assert [(row["user"], row["role"]) for row in rows] == [
        (admin.username, "tenant-admin"),
        (member.username, "tenant-member"),
    ]


def test_the_admin_adds_changes_and_removes_a_member(client_for: ClientFor) -> None:
    tenant = a_tenant("algo-a")
    client = client_for(an_admin_of(tenant))
    newcomer = a_user("newcomer")

    added = client.post(URL, {"user": "newcomer"})
    changed = client.patch(f"{URL}/newcomer", {"role": "tenant-admin"})
    removed = client.delete(f"{URL}/newcomer")

    assert (added.status_code, added.json()["role"]) == (201, "tenant-member")
    assert (changed.status_code, changed.json()["role"]) == (200, "tenant-admin")
    assert removed.status_code == 204
    history = Membership.objects.filter(user=newcomer).order_by("id")
    assert [(row.role, row.valid_to is None) for row in history] == [("member", False), ("admin", False)]


def test_a_leaver_sees_nothing_and_their_tokens_die(client_for: ClientFor) -> None:
    """W07."""
    tenant = a_tenant("algo-a")
    leaver = a_member_of(tenant)
    theirs = client_for(leaver)
    assert theirs.get(URL).status_code == 200

    client_for(an_admin_of(tenant)).delete(f"{URL}/{leaver.username}")

    assert theirs.get(URL).status_code == 401
    assert not ApiToken.objects.filter(user=leaver, revoked_at__isnull=True).exists()


def test_who_belongs_elsewhere_too_keeps_the_token_and_loses_the_tenant(client_for: ClientFor) -> None:
    tenant = a_tenant("algo-a")
    leaver = a_member_of(tenant)
    a_membership(leaver, a_tenant("algo-b"))
    theirs = client_for(leaver)

    client_for(an_admin_of(tenant)).delete(f"{URL}/{leaver.username}")

    assert theirs.get(URL).status_code == 404
    assert [row["slug"] for row in theirs.get("/api/v1/tenants").json()["results"]] == ["algo-b"]


def test_the_only_admin_cannot_go(client_for: ClientFor) -> None:
    tenant = a_tenant("algo-a")
    admin = an_admin_of(tenant)
    client = client_for(admin)

    assert code_of(client.delete(f"{URL}/{admin.username}")) == (409, "conflict")
    assert code_of(client.patch(f"{URL}/{admin.username}", {"role": "member"})) == (409, "conflict")


def test_wrong_bodies_are_told_by_field(client_for: ClientFor) -> None:
    client = client_for(an_admin_of(a_tenant("algo-a")))

    assert wrong_fields(client.post(URL, {"role": "king", "tenant": "algo-b"})) == {
        "user": "required",
        "role": "invalid-choice",
        "tenant": "unknown-field",
    }
    assert wrong_fields(client.post(URL, {"user": "nobody-at-all"})) == {"user": "unknown"}


def test_a_member_may_not_change_members(client_for: ClientFor) -> None:
    tenant = a_tenant("algo-a")
    client = client_for(a_member_of(tenant))

    assert code_of(client.post(URL, {"user": "x"})) == (403, "forbidden")
    assert code_of(client.delete(f"{URL}/x")) == (403, "forbidden")


def test_an_outsider_finds_no_members(client_for: ClientFor) -> None:
    """W01, W02."""
    member = a_member_of(a_tenant("algo-a"))
    outsider = client_for(an_admin_of(a_tenant("ext-d")))

    for answer in (
        outsider.get(URL),
        outsider.post(URL, {"user": "x"}),
        outsider.patch(f"{URL}/{member.username}", {"role": "admin"}),
        outsider.delete(f"{URL}/{member.username}"),
    ):
        assert code_of(answer) == (404, "not-found")


def test_a_member_of_another_tenant_is_not_reached_through_ones_own(client_for: ClientFor) -> None:
    """W02: nested routes with mismatched parents."""
    stranger = a_member_of(a_tenant("ext-d"))
    client = client_for(an_admin_of(a_tenant("algo-a")))

    assert code_of(client.delete(f"{URL}/{stranger.username}")) == (404, "not-found")


def test_the_list_takes_the_same_queries_for_any_number_of_members(
    client_for: ClientFor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    tenant = a_tenant("algo-a")
    for _number in range(12):
        a_member_of(tenant)
    client = client_for(an_admin_of(tenant))
    client.get(URL)

    with django_assert_num_queries(3):
        client.get(URL)
