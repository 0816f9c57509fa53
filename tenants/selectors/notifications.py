"""What a person is told."""

from typing import Any

from django.db.models import Q, QuerySet

from tenants.models import Notification, User


def notifications_for(user: User) -> QuerySet[Any]:
    """Messages to the user, and to all of a tenant of theirs; newest first. Nobody reads another person's."""
    to_all: QuerySet[Any] = Notification.objects.visible_to(user).filter(user__isnull=True, tenant__isnull=False)
    return (
        Notification.objects.filter(Q(user=user) | Q(pk__in=to_all.values("pk")))
        .select_related("tenant")
        .order_by("-id")
    )
