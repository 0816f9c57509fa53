"""Instants on admin pages: ISO days and 24 hours in both languages, in the reader's zone, which every page names."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.test import Client

from billing.services.prices import create_price_book, create_rate
from tenants.models import User
from tests.factories import a_job, a_platform_admin
from tests.web.test_admin_money import new_rate, texts

pytestmark = pytest.mark.django_db

EVENING = datetime(2026, 11, 30, 22, 7, tzinfo=UTC)
"""The next morning in Shanghai."""


def a_reader(client: Client, language: str, zone: str) -> User:
    reader = a_platform_admin()
    reader.language, reader.time_zone = language, zone
    reader.save()
    client.force_login(reader)
    return reader


@pytest.mark.parametrize(("language", "told"), [("en", "Times in UTC+8"), ("zh-hans", "时间为 UTC+8")])
def test_lists_and_pages_write_iso_instants_and_name_the_zone(client: Client, language: str, told: str) -> None:
    a_reader(client, language, "Asia/Shanghai")
    job = a_job(submitted_at=EVENING)

    for address in ("/admin/scheduling/job/", f"/admin/scheduling/job/{job.pk}/change/"):
        page = texts(client, address)

        assert "2026-12-01 06:07" in page
        assert told in page
        assert not re.search(r"[ap]\.m\.|Dec\. ", page)


@pytest.mark.parametrize("address", ["/admin/", "/admin/tenants/tenant/", "/admin/billing/rate/add/"])
def test_every_page_names_the_zone(client: Client, address: str) -> None:
    """Also a form: what is entered there is read in that zone."""
    a_reader(client, "en", "UTC")

    assert "Times in UTC " in texts(client, address)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_form_shows_what_stands_there_to_the_second(client: Client, language: str) -> None:
    """What is saved unchanged stays what it was."""
    a_reader(client, language, "Asia/Shanghai")
    book = create_price_book(name="list", currency="CNY")
    rate = create_rate(replace(new_rate(book, "cpu_core_hour", "0.5"), valid_to=EVENING.replace(second=30)))

    form = client.get(f"/admin/billing/rate/{rate.pk}/change/").content.decode()

    assert re.search(r'name="valid_to_0"[^>]*value="2026-12-01"|value="2026-12-01"[^>]*name="valid_to_0"', form)
    assert re.search(r'name="valid_to_1"[^>]*value="06:07:30"|value="06:07:30"[^>]*name="valid_to_1"', form)
