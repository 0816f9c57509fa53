"""Users, what they are on the platform and in tenants, and their tokens."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tenants.models import ApiToken, Membership, PlatformRole, Tenant, User
from tenants.permissions import Scope
from tests.factories.names import unique

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
PASSWORD = "correct horse battery staple"
# Argon2 is slow on purpose; one hash of one password serves all users of a test run.
_HASHES: dict[str, str] = {}


def a_user(
    username: str | None = None, *, platform_roles: Sequence[str] = (), kind: str = "human", language: str = "en"
) -> User:
    """A user who can sign in with PASSWORD; `platform_roles` of `finance`, `platform-admin`."""
    user = User(username=username or unique("user"), kind=kind, language=language)
    if PASSWORD not in _HASHES:
        user.set_password(PASSWORD)
        _HASHES[PASSWORD] = user.password
    user.password = _HASHES[PASSWORD]
    user.is_staff = bool(platform_roles)
    user.save()
    PlatformRole.objects.bulk_create(PlatformRole(user=user, role=role) for role in platform_roles)
    return user


def a_platform_admin() -> User:
    return a_user(unique("admin"), platform_roles=["platform-admin"])


def a_finance_user() -> User:
    return a_user(unique("finance"), platform_roles=["finance"])


def a_membership(user: User, tenant: Tenant, role: str = "member") -> Membership:
    return Membership.objects.create(user=user, tenant=tenant, role=role, valid_from=LONG_AGO)


def a_token(user: User, *, scopes: Sequence[str] | None = None, name: str | None = None) -> str:
    """The secret of a new token; without `scopes` one that narrows nothing."""
    granted = [scope.value for scope in Scope] if scopes is None else list(scopes)
    _row, secret = ApiToken.objects.create(user=user, name=name or unique("token"), scopes=granted)
    return secret
