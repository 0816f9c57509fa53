"""The one role → action table. Whether a row is visible at all is scoping.py's to say; whether its reader may act is said here."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from berth.common.errors import ForbiddenError
from tenants.models import Membership, Tenant
from tenants.scoping import active_now


class Role(StrEnum):
    PLATFORM_ADMIN = "platform-admin"
    FINANCE = "finance"
    TENANT_ADMIN = "tenant-admin"
    TENANT_MEMBER = "tenant-member"


class Scope(StrEnum):
    """What a token may do at most; its user's roles still decide. A `:write` scope includes its `:read`."""

    JOBS_READ = "jobs:read"
    JOBS_WRITE = "jobs:write"
    USAGE_READ = "usage:read"
    BILLING_READ = "billing:read"
    BILLING_WRITE = "billing:write"
    QUOTA_READ = "quota:read"
    QUOTA_WRITE = "quota:write"
    ADMIN = "admin"


class Action(StrEnum):
    """Everything that a person or script can be allowed to do, named `what.verb`."""

    ME_READ = "me.read"
    TENANT_READ = "tenant.read"
    TENANT_CREATE = "tenant.create"
    TENANT_CHANGE = "tenant.change"
    MEMBER_READ = "member.read"
    MEMBER_CHANGE = "member.change"
    TOKEN_READ = "token.read"  # noqa: S105 - the name of an action
    TOKEN_CHANGE = "token.change"  # noqa: S105 - the name of an action
    NOTIFICATION_READ = "notification.read"
    WEBHOOK_READ = "webhook.read"
    WEBHOOK_CHANGE = "webhook.change"
    SECRET_READ = "secret.read"  # noqa: S105 - the name of an action
    SECRET_CHANGE = "secret.change"  # noqa: S105 - the name of an action
    AUDIT_READ = "audit.read"

    QUEUE_READ = "queue.read"
    QUEUE_CREATE = "queue.create"
    QUEUE_CHANGE = "queue.change"
    QUOTA_CHANGE = "quota.change"
    QUOTA_REQUEST_READ = "quota-request.read"
    QUOTA_REQUEST_CREATE = "quota-request.create"
    QUOTA_REQUEST_DECIDE = "quota-request.decide"
    QUOTA_TRANSFER_READ = "quota-transfer.read"
    QUOTA_TRANSFER_CREATE = "quota-transfer.create"
    RESERVATION_READ = "reservation.read"
    RESERVATION_CREATE = "reservation.create"

    SUPPLY_READ = "supply.read"
    NODE_OPERATE = "node.operate"
    SAMPLE_WRITE = "sample.write"
    CYCLE_READ = "cycle.read"

    JOB_READ = "job.read"
    LOG_READ = "log.read"
    JOB_PREVIEW = "job.preview"
    JOB_SUBMIT = "job.submit"
    JOB_OPERATE = "job.operate"
    JOB_OPERATE_ANY = "job.operate-any"
    JOB_URGENT = "job.urgent"
    WHAT_IF = "what-if.run"

    USAGE_READ = "usage.read"
    STATEMENT_READ = "statement.read"
    PRICE_READ = "price.read"
    PRICE_CHANGE = "price.change"
    ADJUSTMENT_READ = "adjustment.read"
    ADJUSTMENT_CREATE = "adjustment.create"
    BUDGET_READ = "budget.read"
    BUDGET_CHANGE = "budget.change"
    PERIOD_CLOSE = "period.close"
    FOCUS_EXPORT = "focus.export"


_MEMBER: Final = frozenset(
    {
        Action.ME_READ,
        Action.TENANT_READ,
        Action.MEMBER_READ,
        Action.TOKEN_READ,
        Action.TOKEN_CHANGE,
        Action.NOTIFICATION_READ,
        Action.SECRET_READ,
        Action.QUEUE_READ,
        Action.QUOTA_REQUEST_READ,
        Action.QUOTA_TRANSFER_READ,
        Action.RESERVATION_READ,
        Action.SUPPLY_READ,
        Action.CYCLE_READ,
        Action.JOB_READ,
        Action.LOG_READ,
        Action.JOB_PREVIEW,
        Action.JOB_SUBMIT,
        Action.JOB_OPERATE,
        Action.USAGE_READ,
        Action.STATEMENT_READ,
        Action.PRICE_READ,
        Action.BUDGET_READ,
    }
)
_TENANT_ADMIN: Final = _MEMBER | {
    Action.MEMBER_CHANGE,
    Action.WEBHOOK_READ,
    Action.WEBHOOK_CHANGE,
    Action.SECRET_CHANGE,
    Action.AUDIT_READ,
    Action.QUOTA_REQUEST_CREATE,
    Action.QUOTA_TRANSFER_CREATE,
    Action.JOB_OPERATE_ANY,
    Action.JOB_URGENT,
    Action.ADJUSTMENT_READ,
    Action.BUDGET_CHANGE,
}
_FINANCE: Final = frozenset(
    {
        Action.ME_READ,
        Action.TENANT_READ,
        Action.MEMBER_READ,
        Action.TOKEN_READ,
        Action.TOKEN_CHANGE,
        Action.NOTIFICATION_READ,
        Action.AUDIT_READ,
        Action.QUEUE_READ,
        Action.QUOTA_REQUEST_READ,
        Action.QUOTA_TRANSFER_READ,
        Action.RESERVATION_READ,
        Action.SUPPLY_READ,
        Action.CYCLE_READ,
        Action.JOB_READ,
        Action.USAGE_READ,
        Action.STATEMENT_READ,
        Action.PRICE_READ,
        Action.PRICE_CHANGE,
        Action.ADJUSTMENT_READ,
        Action.ADJUSTMENT_CREATE,
        Action.BUDGET_READ,
        Action.BUDGET_CHANGE,
        Action.PERIOD_CLOSE,
        Action.FOCUS_EXPORT,
    }
)

ROLE_ACTIONS: Final[dict[Role, frozenset[Action]]] = {
    Role.TENANT_MEMBER: _MEMBER,
    Role.TENANT_ADMIN: _TENANT_ADMIN,
    Role.FINANCE: _FINANCE,
    Role.PLATFORM_ADMIN: frozenset(Action),
}

_ANY_TOKEN: Final = frozenset({Action.ME_READ, Action.TENANT_READ, Action.QUEUE_READ, Action.SUPPLY_READ})
"""What every token may read: where it is, and what there is. Its rows are still its user's own."""

_JOBS_READ: Final = _ANY_TOKEN | {Action.JOB_READ, Action.LOG_READ, Action.CYCLE_READ, Action.NOTIFICATION_READ}
_JOBS_WRITE: Final = _JOBS_READ | {
    Action.JOB_PREVIEW,
    Action.JOB_SUBMIT,
    Action.JOB_OPERATE,
    Action.JOB_OPERATE_ANY,
    Action.JOB_URGENT,
}
_USAGE_READ: Final = _ANY_TOKEN | {Action.USAGE_READ}
_BILLING_READ: Final = _USAGE_READ | {
    Action.STATEMENT_READ,
    Action.PRICE_READ,
    Action.ADJUSTMENT_READ,
    Action.BUDGET_READ,
    Action.FOCUS_EXPORT,
}
_BILLING_WRITE: Final = _BILLING_READ | {
    Action.PRICE_CHANGE,
    Action.ADJUSTMENT_CREATE,
    Action.BUDGET_CHANGE,
    Action.PERIOD_CLOSE,
}
_QUOTA_READ: Final = _ANY_TOKEN | {
    Action.QUOTA_REQUEST_READ,
    Action.QUOTA_TRANSFER_READ,
    Action.RESERVATION_READ,
}
_QUOTA_WRITE: Final = _QUOTA_READ | {
    Action.QUEUE_CREATE,
    Action.QUEUE_CHANGE,
    Action.QUOTA_CHANGE,
    Action.QUOTA_REQUEST_CREATE,
    Action.QUOTA_REQUEST_DECIDE,
    Action.QUOTA_TRANSFER_CREATE,
    Action.RESERVATION_CREATE,
    Action.WHAT_IF,
}

SCOPE_ACTIONS: Final[dict[Scope, frozenset[Action]]] = {
    Scope.JOBS_READ: _JOBS_READ,
    Scope.JOBS_WRITE: _JOBS_WRITE,
    Scope.USAGE_READ: _USAGE_READ,
    Scope.BILLING_READ: _BILLING_READ,
    Scope.BILLING_WRITE: _BILLING_WRITE,
    Scope.QUOTA_READ: _QUOTA_READ,
    Scope.QUOTA_WRITE: _QUOTA_WRITE,
    # Narrows nothing: whatever the user's roles allow, their tokens included.
    Scope.ADMIN: frozenset(Action),
}

_NARROWER: Final[dict[Scope, frozenset[Action]]] = {
    Scope.JOBS_READ: _ANY_TOKEN,
    Scope.JOBS_WRITE: _JOBS_READ,
    Scope.USAGE_READ: _ANY_TOKEN,
    Scope.BILLING_READ: _USAGE_READ,
    Scope.BILLING_WRITE: _BILLING_READ,
    Scope.QUOTA_READ: _ANY_TOKEN,
    Scope.QUOTA_WRITE: _QUOTA_READ,
}
"""What the next narrower scope opens already."""

_MEMBERSHIP_ROLES: Final = {
    Membership.Role.MEMBER.value: Role.TENANT_MEMBER,
    Membership.Role.ADMIN.value: Role.TENANT_ADMIN,
}


@dataclass(frozen=True, slots=True)
class Belonging:
    """One membership in force, with what a request needs of its tenant."""

    tenant_id: int
    slug: str
    name: str
    service_tier: str
    role: Role


def belongings(user: Any) -> tuple[Belonging, ...]:
    """The user's memberships in force, by tenant slug; read once per user object, that is once a request."""
    cached: tuple[Belonging, ...] | None = user.__dict__.get("_belongings")
    if cached is None:
        columns = ("tenant_id", "tenant__slug", "tenant__name", "tenant__service_tier", "role")
        rows = Membership.objects.filter(active_now(), user_id=user.pk).order_by("tenant__slug").values_list(*columns)
        cached = user.__dict__["_belongings"] = _belongings(rows)
    return cached


def remember_roles(
    user: Any, *, platform: frozenset[str], memberships: Iterable[tuple[int, str, str, str, str]]
) -> None:
    """Give a user object what was read along with it, as `belongings` and `platform_role_names` would read it.

    `memberships`: in force, by tenant slug; tenant's id, slug, name, service tier, then the role in it.
    """
    user.__dict__["platform_role_names"] = platform
    user.__dict__["_belongings"] = _belongings(memberships)


def _belongings(rows: Iterable[tuple[int, str, str, str, str]]) -> tuple[Belonging, ...]:
    return tuple(Belonging(pk, slug, name, tier, _MEMBERSHIP_ROLES[role]) for pk, slug, name, tier, role in rows)


def forget_roles(user: Any) -> None:
    """Drop what this user object remembers of its roles: after they changed within one request or test."""
    for name in ("_belongings", "platform_role_names"):
        user.__dict__.pop(name, None)


def roles_of(user: Any, tenant: Tenant | None = None) -> frozenset[Role]:
    """Platform roles, plus the role in `tenant`; without a tenant, the roles held in any tenant."""
    if not getattr(user, "is_authenticated", False) or not user.is_active:
        return frozenset()
    platform = frozenset(Role(name) for name in user.platform_role_names)
    return platform | {held.role for held in belongings(user) if tenant is None or held.tenant_id == tenant.pk}


def can(user: Any, action: Action, tenant: Tenant | None = None) -> bool:
    """Whether a role of the user in `tenant` (None: on the platform or in any tenant) and the token's scopes allow `action`."""
    return scope_allows(user, action) and any(action in ROLE_ACTIONS[role] for role in roles_of(user, tenant))


def require(user: Any, action: Action, tenant: Tenant | None = None) -> None:
    """ForbiddenError unless `can`. Only after the row was found visible: what is not visible is not found."""
    if not can(user, action, tenant):
        raise ForbiddenError


def scope_allows(user: Any, action: Action) -> bool:
    """Whether the token that the user came with may do `action`; sessions are not narrowed."""
    scopes: frozenset[str] | None = getattr(user, "token_scopes", None)
    return scopes is None or action in _actions_of(scopes)


@lru_cache(maxsize=256)
def _actions_of(scopes: frozenset[str]) -> frozenset[Action]:
    known = [SCOPE_ACTIONS[Scope(name)] for name in sorted(scopes) if name in SCOPE_ACTIONS]
    return frozenset().union(*known)


def full_scopes(user: Any) -> tuple[Scope, ...]:
    """The scopes that open something to this user, in the order of the closed list: what a token of theirs can usefully have."""
    actions = frozenset().union(*(ROLE_ACTIONS[role] for role in roles_of(user)))
    return tuple(
        scope for scope in Scope if scope is Scope.ADMIN or (SCOPE_ACTIONS[scope] - _NARROWER[scope]) & actions
    )
