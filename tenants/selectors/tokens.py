"""API tokens, never their secrets."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import models
from django.db.models import Q, QuerySet

from berth.common import clock
from berth.common.prepared import fetch_prepared
from tenants.models import ApiToken, Membership, PlatformRole, Tenant, User


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """A token with its user, the user's platform roles, and memberships in force by tenant slug: tenant's id, slug, name, service
    tier, then the role in it."""

    token: ApiToken
    platform_roles: frozenset[str]
    memberships: tuple[tuple[int, str, str, str, str], ...]


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """The user's own tokens that still open something."""
    alive = Q(expiry__isnull=True) | Q(expiry__gt=clock.wall_now())
    return ApiToken.objects.filter(alive, user=user, revoked_at__isnull=True)


def holder_of_token(digest: str) -> TokenHolder | None:
    """Whose token has this digest, revoked and expired ones included, and what they are where: one statement for the whole of it,
    since every request of the API begins with it."""
    at = clock.wall_now()
    rows = fetch_prepared(_statement(), [at, at, digest])
    if not rows:
        return None
    *columns, platform_roles, memberships = rows[0]
    token_names, user_names = _names(ApiToken), _names(User)
    token = ApiToken.from_db("default", token_names, columns[: len(token_names)])
    token.user = User.from_db("default", user_names, columns[len(token_names) :])
    return TokenHolder(
        token, frozenset(platform_roles), tuple(tuple(membership) for membership in json.loads(memberships))
    )


def _names(model: type[models.Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


@cache
def _statement() -> str:
    def columns(model: type[models.Model], alias: str) -> str:
        return ", ".join(f'{alias}."{field.column}"' for field in model._meta.concrete_fields)

    def table(model: Any) -> str:
        return f'"{model._meta.db_table}"'

    return f"""
        SELECT {columns(ApiToken, "token")}, {columns(User, "person")},
               ARRAY(SELECT held.role FROM {table(PlatformRole)} held WHERE held.user_id = person.id),
               (SELECT coalesce(jsonb_agg(jsonb_build_array(tenant.id, tenant.slug, tenant.name, tenant.service_tier, member.role)
                                          ORDER BY tenant.slug), '[]'::jsonb)
                  FROM {table(Membership)} member JOIN {table(Tenant)} tenant ON tenant.id = member.tenant_id
                 WHERE member.user_id = person.id AND member.valid_from <= %s
                   AND (member.valid_to IS NULL OR member.valid_to > %s))
          FROM {table(ApiToken)} token JOIN {table(User)} person ON person.id = token.user_id WHERE token.digest = %s
    """  # noqa: S608 - own tables
