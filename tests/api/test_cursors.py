"""Every list's cursor: whatever a client makes of one is 400 by name, and those that the list gave lead through all of it."""

from base64 import b64encode
from typing import Any

import pytest
from django.db import models

from berth.common.cursors import cursor_at, write_cursor
from berth.common.paging import CursorPages, field_at
from tests.api.conftest import ClientFor
from tests.api.endpoints import PREFIX, endpoints
from tests.api.problems import wrong_fields
from tests.factories import a_platform_admin, a_queue, a_tenant, unique
from tests.factories.worlds import a_world

pytestmark = pytest.mark.django_db

LISTS = [
    (found.path, name, field, found.view)
    for found in endpoints()
    if found.handler == "list"
    and "{" not in found.path
    and getattr(found.view, "pagination_class", None) is CursorPages
    for name, field in getattr(found.view, "ordering_fields", {}).items()
]
ROUGH = (
    "p=abc",
    "\n",
    "p=\x00",
    "o=99999999999999999999",
    "o=-1",
    "o=²",
    "p=1e5",
    "p=2026-13-01",
    "p=" + "9" * 5000,
    "r=2",
    "p",
)
POSITIONS: "dict[type[models.Field[Any, Any]], tuple[str, ...]]" = {
    models.IntegerField: ("abc", "1e5", "9" * 19, "9" * 5000, "٣", "", "\x00", "1.5"),
    models.DateTimeField: ("abc", "5", "2026-13-01", "2026-01-01T00:00:00", "2026-01-01", "\x00", "", "9" * 5000),
    models.DecimalField: ("abc", "NaN", "Infinity", "\x00", "", "9" * 5000),
    models.CharField: ("\x00", "9" * 5000),
}


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def forged(field: "models.Field[Any, Any] | None", ordering: str) -> list[str]:
    """Cursors of the right ordering at places where its field has none."""
    wrong = next((texts for kind, texts in POSITIONS.items() if isinstance(field, kind)), ())
    return [write_cursor(cursor_at(text), ordering) for text in wrong]


def test_all_lists_are_here_and_no_list_is_ordered_by_what_may_be_missing() -> None:
    assert len({path for path, *_rest in LISTS}) >= 12
    for _path, _name, path, view in LISTS:
        field = field_at(view.queryset.model, path) if view.queryset is not None else None
        assert field is None or not field.null


@pytest.mark.parametrize(("path", "name", "field", "view"), LISTS, ids=[f"{p}-{n}" for p, n, *_rest in LISTS])
def test_a_cursor_that_the_list_did_not_give_is_named(
    client_for: ClientFor, path: str, name: str, field: str, view: Any
) -> None:
    client = client_for(a_platform_admin())
    ordering = field if field in {"id", "pk"} else f"{field},id"
    kind = field_at(view.queryset.model, field) if view.queryset is not None else None
    other = write_cursor(cursor_at("1"), "another,id")

    for cursor in (*map(encoded, ROUGH), "nonsense", "=", "é", "", other, *forged(kind, ordering)):
        answer = client.get(f"{PREFIX}{path}", {"ordering": name, "cursor": cursor})

        assert list(wrong_fields(answer)) == ["cursor"], (cursor, answer.content)


@pytest.mark.parametrize("ordering", ["tenant", "-tenant", "name", "-name", "id"])
def test_pages_lead_through_the_whole_list_and_back_in_every_ordering(client_for: ClientFor, ordering: str) -> None:
    world = a_world()
    for _other in range(2):
        tenant = a_tenant(cohort=world.cohort)
        for _queue in range(2):
            a_queue(unique("more"), tenant=tenant, pool=world.flavor.pool)
    client = client_for(a_platform_admin())
    whole = client.get(f"{PREFIX}/queues?ordering={ordering}").json()["results"]

    pages = [client.get(f"{PREFIX}/queues?ordering={ordering}&limit=1").json()]
    while pages[-1]["next"] and len(pages) <= len(whole):
        pages.append(client.get(pages[-1]["next"]).json())
    back = [pages[-1]]
    while back[-1]["previous"] and len(back) <= len(whole):
        back.append(client.get(back[-1]["previous"]).json())

    assert [row for page in pages for row in page["results"]] == whole
    assert [row for page in reversed(back) for row in page["results"]] == whole


def test_more_rows_of_one_value_than_any_offset_of_the_framework_are_still_paged(client_for: ClientFor) -> None:
    at_offset = write_cursor(cursor_at(None, offset=1500), "-priority,-id")

    answer = client_for(a_platform_admin()).get(f"{PREFIX}/jobs?ordering=-priority&cursor={at_offset}")

    assert answer.json()["results"] == []
