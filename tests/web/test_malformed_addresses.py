"""Places and numbers in a page's address that nobody was given: another answer than an error of ours."""

import pytest
from django.test import Client

from tests.factories import a_platform_admin

pytestmark = pytest.mark.django_db
NINES = "9" * 5000


@pytest.mark.parametrize("sort", ["newest", "oldest", "dearest"])
@pytest.mark.parametrize(
    "cursor",
    [f"after_{NINES}", f"before_1_{NINES}", "after_NaN_1", "after_1e999999_1", "after_²", "after", "_", "after_١"],
)
def test_a_list_of_jobs_starts_at_the_front_where_its_cursor_is_none(client: Client, sort: str, cursor: str) -> None:
    client.force_login(a_platform_admin())
    client.raise_request_exception = False

    assert client.get("/jobs/", {"sort": sort, "cursor": cursor}).status_code == 200


@pytest.mark.parametrize(
    "path", [f"/jobs/{'9' * 30}/", f"/jobs/{'9' * 4200}/", f"/jobs/{NINES}/", f"/statements/{NINES}/"]
)
def test_nothing_is_found_at_a_number_beyond_all_numbers(client: Client, path: str) -> None:
    client.force_login(a_platform_admin())
    client.raise_request_exception = False

    assert client.get(path).status_code == 404
