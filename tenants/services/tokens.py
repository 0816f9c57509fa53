"""API tokens: made with a secret that is shown once, revoked for ever."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.errors import ConflictError, ForbiddenError, InvalidError
from berth.common.errors import FieldProblem as Wrong
from tenants.models import ApiToken, User
from tenants.permissions import Action, Scope, full_scopes, require
from tenants.services.audit import record_event

MOST_PER_USER: Final = 100


def create_token(
    *, by: User, name: str, scopes: Sequence[str] | None = None, expires: datetime | None = None
) -> tuple[ApiToken, str]:
    """A token of one's own and its secret. Without `scopes` it gets all that the user's roles can use.

    A token cannot make one that may do more than itself (ForbiddenError).
    """
    require(by, Action.TOKEN_CHANGE)
    held: frozenset[str] | None = getattr(by, "token_scopes", None)
    granted = _granted(by, scopes)
    if scopes is None and held is not None:
        granted = [scope for scope in granted if scope in held]
    if held is not None and not set(granted) <= held:
        raise ForbiddenError(_("A token cannot make one with wider scopes than its own."))
    return issue_token(user=by, name=name, scopes=granted, expires=expires, by=by)


def issue_token(
    *,
    user: User,
    name: str,
    scopes: Sequence[str] | None = None,
    expires: datetime | None = None,
    by: User | None = None,
) -> tuple[ApiToken, str]:
    """The same for whoever already decided that `user` may have it (the command line). `expires` must lie ahead."""
    granted = _granted(user, scopes)
    at = clock.wall_now()
    if expires is not None and expires <= at:
        raise InvalidError([Wrong("expires", "out-of-range", _("Give a time in the future, or null for no end."))])
    with transaction.atomic():
        if ApiToken.objects.filter(user=user, revoked_at__isnull=True).count() >= MOST_PER_USER:
            raise ConflictError(_("A user may have %(most)s tokens. Revoke one first."), most=MOST_PER_USER)
        lifetime = None if expires is None else expires - at
        token, secret = ApiToken.objects.create(user=user, expiry=lifetime, name=name, scopes=granted)
        detail = {"name": name, "scopes": granted, "user": user.username}
        record_event(by=by or user, action="token.create", on=token, detail=detail)
    return token, secret


def revoke_token(*, by: User, token: ApiToken) -> None:
    """From the next request on it opens nothing; the row stays for the trail. Revoking twice changes nothing."""
    require(by, Action.TOKEN_CHANGE)
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=clock.wall_now()):
            record_event(by=by, action="token.revoke", on=token, detail={"name": token.name})


def _granted(user: User, scopes: Sequence[str] | None) -> list[str]:
    """In the order of the closed list, each once; InvalidError for a scope that opens nothing to the user."""
    useful = full_scopes(user)
    if scopes is None:
        return [scope.value for scope in useful]
    known = {scope.value for scope in useful}
    wrong = sorted(set(scopes) - known)
    if wrong or not scopes:
        allowed = ", ".join(scope.value for scope in useful)
        text = _("Not among the scopes that your roles can use: %(wrong)s. Choose from: %(allowed)s.")
        raise InvalidError([Wrong("scopes", "unknown", text % {"wrong": ", ".join(wrong) or "-", "allowed": allowed})])
    return [scope.value for scope in Scope if scope.value in scopes]
