"""What a person chose for their own pages: language and colours."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from berth.common.errors import Problems
from tenants.models import User


def set_preferences(user: User, *, language: str | None = None, theme: str | None = None) -> User:
    """Store what is given (None = leave it); raises InvalidError for a language or theme that does not exist."""
    problems = Problems()
    fields: list[str] = []
    if language is not None:
        if language not in dict(settings.LANGUAGES):
            problems.add("language", _("Choose one of: en, zh-hans."))
        user.language = language
        fields.append("language")
    if theme is not None:
        if theme not in {"auto", "light", "dark"}:
            problems.add("theme", _("Choose one of: auto, light, dark."))
        user.theme = theme
        fields.append("theme")
    problems.raise_if_any()
    if fields:
        user.save(update_fields=fields)
    return user
