"""API tokens, never their secrets."""

from django.db.models import Q, QuerySet

from berth.common import clock
from tenants.models import ApiToken, User


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """The user's own tokens that still open something."""
    alive = Q(expiry__isnull=True) | Q(expiry__gt=clock.wall_now())
    return ApiToken.objects.filter(alive, user=user, revoked_at__isnull=True)
