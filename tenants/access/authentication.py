"""Who comes in by `Authorization: Bearer TOKEN`, or by the session of a signed-in page."""

from datetime import timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _
from knox.crypto import hash_token
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from berth.common import clock
from tenants.models import ApiToken, User
from tenants.permissions import remember_roles
from tenants.selectors.tokens import holder_of_token

SCHEME = "Bearer"
USED_EVERY = timedelta(seconds=60)
"""`last_used_at` is written once in this while, not on every request."""


class TokenAuthentication(BaseAuthentication):
    """One query a request, roles included. The token is looked up by its digest (unique index): no comparison can be timed.

    The user carries the token's scopes on (`token_scopes`): permissions.py narrows the roles by them.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        header = get_authorization_header(request).split()
        if not header or header[0].lower() != SCHEME.lower().encode():
            return None
        if len(header) != 2:
            raise AuthenticationFailed(_("The header must read: Authorization: Bearer TOKEN."))
        try:
            digest = hash_token(header[1].decode("ascii"))
        except UnicodeDecodeError as error:
            raise AuthenticationFailed(_("This token is not valid.")) from error
        return self._holder(digest)

    def authenticate_header(self, request: Request) -> str:
        return f'{SCHEME} realm="berth"'

    def _holder(self, digest: str) -> tuple[User, ApiToken]:
        holder = holder_of_token(digest)
        if holder is None:
            raise AuthenticationFailed(_("This token is not valid."))
        token, at = holder.token, clock.wall_now()
        if token.revoked_at is not None or (token.expiry is not None and token.expiry <= at):
            raise AuthenticationFailed(_("This token is not valid."))
        user: User = token.user
        if not user.is_active or user.disabled_at is not None:
            raise AuthenticationFailed(_("This token is not valid."))
        if token.last_used_at is None or at - token.last_used_at > USED_EVERY:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=at)
        remember_roles(user, platform=holder.platform_roles, memberships=holder.memberships)
        user.token_scopes = frozenset(token.scopes)  # type: ignore[attr-defined]
        return user, token


class TokenOrSession(TokenAuthentication):
    """A request with a Bearer header stands or falls by it; one without it may come with a session and its CSRF token."""

    def authenticate(self, request: Request) -> tuple[User, Any] | None:
        if get_authorization_header(request):
            found = super().authenticate(request)
            if found is None:
                raise AuthenticationFailed(_("The header must read: Authorization: Bearer TOKEN."))
            return found
        by_session: tuple[User, Any] | None = SessionAuthentication().authenticate(request)
        if by_session is not None and by_session[0].disabled_at is not None:
            raise AuthenticationFailed(_("This account is disabled."))
        return by_session
