"""What the frame round every page needs: navigation by role, the tenant switcher, colours."""

from dataclasses import dataclass, field
from typing import Any, Final

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants.models import Tenant
from tenants.permissions import Action, can
from tenants.scoping import sees_everything
from tenants.selectors.chosen_tenant import tenants_of

THEME_COOKIE: Final = "berth_theme"
THEMES: Final = ("auto", "light", "dark")


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    icon: str
    word: Any


@dataclass(frozen=True, slots=True)
class Group:
    word: Any
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    theme: str = "auto"
    current: str = ""
    groups: tuple[Group, ...] = ()
    phone_entries: tuple[Entry, ...] = ()
    tenants: list[Tenant] = field(default_factory=list)
    tenant: Tenant | None = None
    tenant_target: str = "overview"
    sees_all: bool = False
    may_submit: bool = False


OVERVIEW = Entry("overview", "overview", gettext_lazy("Overview"))
JOBS = Entry("jobs", "jobs", gettext_lazy("Jobs"))
SUBMIT = Entry("submit", "plus", gettext_lazy("Submit"))
QUOTA = Entry("quota", "quota", gettext_lazy("Quota"))
STATEMENTS = Entry("statements", "statements", gettext_lazy("Statements"))
ADMIN = Entry("admin:index", "admin", gettext_lazy("Administration"))

PARENTS: Final = {"job": "jobs", "statement": "statements", "queue": "quota"}
"""Pages without an entry of their own light up the one they belong to."""


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor; lazy, so that answers without a frame (schema, admin) pay nothing for it."""
    return {"frame": SimpleLazyObject(lambda: build_frame(request))}


def build_frame(request: HttpRequest) -> Frame:
    user: Any = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        theme = request.COOKIES.get(THEME_COOKIE, "auto")
        return Frame(theme=theme if theme in THEMES else "auto")
    match = request.resolver_match
    name = (match.url_name or "") if match else ""
    current = PARENTS.get(name, name)
    everything = sees_everything(user)
    tenant = getattr(request, "tenant", None) or None
    tenants = tenants_of(user)
    submits = can(user, Action.JOB_SUBMIT)
    work = (OVERVIEW, JOBS, SUBMIT, QUOTA) if submits else (OVERVIEW, JOBS, QUOTA)
    groups = [Group(_("Work"), work), Group(_("Money"), (STATEMENTS,))]
    if user.is_staff:
        groups.append(Group(_("Platform"), (ADMIN,)))
    return Frame(
        theme=user.theme,
        current=current,
        groups=tuple(groups),
        phone_entries=work[:4],
        tenants=tenants,
        tenant=tenant,
        tenant_target=current if current in {"overview", "jobs", "quota", "statements", "submit"} else "overview",
        sees_all=everything,
        may_submit=submits,
    )
