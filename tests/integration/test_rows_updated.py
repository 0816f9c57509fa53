"""Rows written many at once: each gets its own values, and what was not asked to be written stays as it is."""

import pytest

from berth.common.updating import update_rows
from scheduling.models import Run
from tests.factories import a_job, a_run


@pytest.mark.django_db
def test_each_row_gets_its_own_values_and_nothing_else_of_it_is_written() -> None:
    first, second, untouched = (a_run(a_job()) for _ in range(3))
    Run.objects.update(end_message="said meanwhile")

    first.exit_code, second.exit_code = 1, 2
    first.state = "stopping"
    update_rows([first, second], ["exit_code"])
    update_rows([], ["exit_code"])

    rows = list(Run.objects.order_by("pk").values_list("pk", "exit_code", "end_message"))
    assert rows == [
        (first.pk, 1, "said meanwhile"),
        (second.pk, 2, "said meanwhile"),
        (untouched.pk, None, "said meanwhile"),
    ]
    assert set(Run.objects.values_list("state", flat=True)) == {untouched.state}
