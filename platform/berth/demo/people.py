"""The demo's people: random passwords, one token each with its full scopes, and the file that scripts read."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from berth.common import clock
from tenants.models import ApiToken, Membership, PlatformRole, Tenant, User
from tenants.permissions import full_scopes

PASSWORD_BYTES = 9


@dataclass(frozen=True, slots=True)
class SignIn:
    """One line of `.local/demo.json`. `tenant` is None for platform roles."""

    username: str
    password: str
    role: str
    tenant: str | None
    token: str


def create_people(tenants: list[Tenant], *, since: datetime) -> list[SignIn]:
    """Make `admin`, `finance`, and `<tenant>-admin` and `<tenant>-member` of each tenant. Call inside a transaction."""
    people = [_platform("admin", PlatformRole.Role.PLATFORM_ADMIN), _platform("finance", PlatformRole.Role.FINANCE)]
    for tenant in tenants:
        people.append(_member(tenant, Membership.Role.ADMIN, since))
        people.append(_member(tenant, Membership.Role.MEMBER, since))
    return people


def write_sign_ins(people: list[SignIn], *, path: Path, url: str) -> None:
    """Write the sign-ins for scripts, readable by the owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"url": url, "users": [asdict(person) for person in people]}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2)
    path.chmod(0o600)


def _platform(username: str, role: PlatformRole.Role) -> SignIn:
    user, password = _user(username)
    User.objects.filter(pk=user.pk).update(is_staff=True)
    PlatformRole.objects.create(user=user, role=role)
    return SignIn(username, password, role.value, None, _token(user))


def _member(tenant: Tenant, role: Membership.Role, since: datetime) -> SignIn:
    user, password = _user(f"{tenant.slug}-{role.value}")
    # Memberships follow wall time, which business time may have run away from.
    begun = min(since, clock.wall_now())
    Membership.objects.create(tenant=tenant, user=user, role=role, valid_from=begun)
    name = f"tenant-{role.value}"
    return SignIn(user.username, password, name, tenant.slug, _token(user))


def renew_sign_ins() -> list[SignIn]:
    """New passwords and tokens for the demo's people, whose old ones were lost with the file that held them."""
    people = []
    for user in User.objects.filter(kind=User.Kind.HUMAN).order_by("pk"):
        roles = sorted(user.platform_role_names)
        membership = user.memberships.select_related("tenant").order_by("pk").first()
        if roles:
            role, tenant = roles[0], None
        elif membership is not None:
            role, tenant = f"tenant-{membership.role}", membership.tenant.slug
        else:
            continue
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        user.set_password(password)
        user.save(update_fields=["password"])
        people.append(SignIn(user.username, password, role, tenant, _token(user)))
    return people


def _user(username: str) -> tuple[User, str]:
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    user = User.objects.create_user(username=username, password=password, time_zone="Asia/Shanghai")
    return user, password


def _token(user: User) -> str:
    _, token = ApiToken.objects.create(user=user, name="demo", scopes=[str(scope) for scope in full_scopes(user)])
    return str(token)
