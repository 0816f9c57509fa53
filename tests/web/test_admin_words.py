"""Admin pages speak people's words in both languages: heads of lists, labels of forms, names of what is listed."""

import re

import pytest
from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.db import models
from django.test import Client
from django.utils.translation import override

from berth.words import COLUMNS, MODELS
from tenants.access.admin_pages import RoleAdmin
from tests.factories import a_flavor, a_platform_admin

pytestmark = pytest.mark.django_db

SAME = {"ID", "UID"}
"""Said the same way in both languages."""


def pages() -> list[type[models.Model]]:
    import berth.urls  # noqa: F401 - the pages are registered with the addresses

    return [model for model, page in admin.site._registry.items() if isinstance(page, RoleAdmin)]


def test_every_head_and_label_is_said_in_chinese() -> None:
    """What is not in the words, or is there and not translated, reads as a column's name with spaces."""
    english: list[str] = []
    for model in pages():
        page = admin.site._registry[model]
        fields = [str(name) for name in page.list_display] + [
            field.name for field in model._meta.fields if not field.primary_key
        ]
        with override("zh-hans"):
            labels = {name: str(label_for_field(name, model, page)) for name in fields}
            labels |= {"model": str(model._meta.verbose_name), "models": str(model._meta.verbose_name_plural)}
        english += [
            f"{model.__name__}.{name}: {label}"
            for name, label in labels.items()
            if label.isascii() and label not in SAME
        ]
    assert english == []


def test_lists_and_forms_show_the_words(client: Client) -> None:
    flavor = a_flavor()
    reader = a_platform_admin()
    reader.language = "zh-hans"
    reader.save()
    client.force_login(reader)

    shown = client.get("/admin/tenants/flavor/").content.decode()
    form = client.get(f"/admin/tenants/flavor/{flavor.pk}/change/").content.decode()

    assert re.search(r"<th[^>]*>(?:\s|<[^>]*>)*名称", shown)
    assert re.search(r"<label[^>]*>\s*卡型号", form)
    assert "显存（MiB）" in form


@pytest.mark.parametrize(("language", "want"), [("en", "History"), ("zh-hans", "历史记录")])
def test_the_index_heads_earlier_states_with_a_word(client: Client, language: str, want: str) -> None:
    reader = a_platform_admin()
    reader.language = language
    reader.save()
    client.force_login(reader)

    index = client.get("/admin/").content.decode()

    assert re.search(rf">\s*{want}\s*<", index)
    assert "pghistory" not in re.sub(r"<[^>]*>", "", index).lower()


def test_words_are_said_of_what_there_is() -> None:
    """A word for a column or a model that is gone is a word nobody reads."""
    from django.apps import apps

    named = {
        field.name
        for label in MODELS
        for field in apps.get_model(label)._meta.get_fields()
        if isinstance(field, models.Field)
    }
    assert set(COLUMNS) - named == set()
