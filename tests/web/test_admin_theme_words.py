"""What the admin's theme says is said in the reader's language: search, filters, empty lists, choices, history."""

import re
from pathlib import Path

import messages
import pytest
import unfold
from django.template.loader import get_template
from django.test import Client
from django.utils.translation import gettext, override, pgettext

from tests.factories import a_platform_admin

pytestmark = pytest.mark.django_db

THEME = Path(unfold.__file__).parent
NOT_INSTALLED = {"contrib", "unfold_crispy"}


@pytest.fixture
def chinese_reader(client: Client) -> Client:
    reader = a_platform_admin()
    reader.language = "zh-hans"
    reader.save()
    client.force_login(reader)
    return client


def theme_files(kind: str) -> list[Path]:
    return [path for path in sorted(THEME.rglob(f"*.{kind}")) if not NOT_INSTALLED & {*path.relative_to(THEME).parts}]


def replaced(path: Path) -> bool:
    """True for a template of which a page gets ours instead."""
    name = str(path.relative_to(THEME / "templates"))
    return Path(get_template(name).origin.name) != path  # type: ignore[attr-defined]


def test_the_theme_speaks_chinese() -> None:
    """A newer theme says new things: they fail here until they stand in `berth.theme_strings` and the catalogue."""
    said = {text for path in theme_files("html") if not replaced(path) for text in messages.in_template(path)}
    for name in ("forms.py", "widgets.py", "admin.py", "mixins/base_model_admin.py", "templatetags/unfold.py"):
        said |= set(messages.in_python(THEME / name))
    with override("zh-hans"):
        english = {text for context, text in said if (pgettext(context, text) if context else gettext(text)) == text}

    assert english == set()


def test_an_empty_list_says_so_in_chinese(chinese_reader: Client) -> None:
    page = chinese_reader.get("/admin/scheduling/job/").content.decode()

    assert re.search(r'placeholder="输入以搜索"', page)
    assert "没有找到结果" in page
    assert "这里还没有内容。" in page
    assert "重置筛选" not in page


def test_a_search_without_a_match_offers_to_start_again(client: Client) -> None:
    client.force_login(a_platform_admin())

    page = client.get("/admin/tenants/tenant/", {"q": "nobody"}).content.decode()

    assert "Nothing matches the search and the filters." in page
    assert "yielded" not in page
    assert re.search(r'<a href="\?"[^>]*>.*Reset filters', page)
    assert re.search(r'<a href="/admin/tenants/tenant/add/[^>]*>.*Add tenant', page)


def test_choices_of_a_form_are_asked_for_in_chinese(chinese_reader: Client) -> None:
    form = chinese_reader.get("/admin/tenants/queue/add/").content.decode()

    assert "选择值" in form
    assert "Select value" not in form
