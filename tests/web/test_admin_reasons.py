"""Why a loan ended and why a job was preempted, on admin pages: in words, and the code where somebody looks for it."""

from datetime import timedelta

import pytest
from django.test import Client

from berth.common import clock
from scheduling.models import Loan, Preemption, Run
from tests.factories import a_flavor, a_job, a_platform_admin, a_queue, a_run
from tests.web.test_admin_money import texts

pytestmark = pytest.mark.django_db

OWN_NOW = {"en": "covered by the borrower's own quota", "zh-hans": "已由借用方自有配额覆盖"}
RECLAIMED = {"en": "nominal quota reclaimed", "zh-hans": "收回名义配额"}


def a_reader(client: Client, language: str) -> None:
    reader = a_platform_admin()
    reader.language = language
    reader.save()
    client.force_login(reader)


@pytest.fixture
def run() -> Run:
    flavor = a_flavor()
    return a_run(a_job(a_queue(pool=flavor.pool), flavor=flavor))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_loan_tells_why_it_ended(client: Client, run: Run, language: str) -> None:
    a_reader(client, language)
    now = clock.now()
    loan = Loan.objects.create(
        run=run,
        queue=run.job.queue,
        flavor=run.job.queue.pool.flavors.get(),
        amount_m=4000,
        opened_at=now - timedelta(hours=1),
        expires_at=now,
        ended_at=now,
        why="own-now",
    )
    want = OWN_NOW[language]

    rows = texts(client, "/admin/scheduling/loan/").replace("&#x27;", "'")
    shown = texts(client, f"/admin/scheduling/loan/{loan.pk}/change/").replace("&#x27;", "'")

    assert rows.count(want) == 2  # the row and the filter
    assert "own-now" not in rows
    assert f"{want} ( own-now )" in shown


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_preemption_tells_its_reason(client: Client, run: Run, language: str) -> None:
    a_reader(client, language)
    now = clock.now()
    notice = Preemption.objects.create(
        run=run, job=run.job, reason="reclaim-nominal", notice_at=now, grace_until=now + timedelta(minutes=2)
    )

    rows = texts(client, "/admin/scheduling/preemption/")
    shown = texts(client, f"/admin/scheduling/preemption/{notice.pk}/change/")

    assert rows.count(RECLAIMED[language]) == 2
    assert "reclaim-nominal" not in rows
    assert f"{RECLAIMED[language]} ( reclaim-nominal )" in shown


def test_a_filter_by_a_reason_finds_its_loans(client: Client, run: Run) -> None:
    a_reader(client, "en")
    now = clock.now()
    flavor = run.job.queue.pool.flavors.get()
    Loan.objects.create(run=run, queue=run.job.queue, flavor=flavor, amount_m=1000, opened_at=now, expires_at=now)

    assert "0 loans" in texts(client, "/admin/scheduling/loan/?why=returned")
    assert "1 loan" in texts(client, "/admin/scheduling/loan/")
