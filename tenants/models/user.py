"""People and service accounts, and what they are on the platform as a whole."""

from functools import cached_property

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _


class User(AbstractUser):
    """Scripts use service users; a leaver is disabled, never deleted, and anonymised on request."""

    class Kind(models.TextChoices):
        HUMAN = "human", _("person")
        SERVICE = "service", _("service account")

    kind = models.CharField(max_length=10, choices=Kind, default=Kind.HUMAN)
    language = models.CharField(
        max_length=10, default="", blank=True, choices=[("en", "English"), ("zh-hans", "简体中文")]
    )
    """Empty: as the browser asks."""
    time_zone = models.CharField(max_length=64, default="UTC")
    theme = models.CharField(
        max_length=10, default="auto", choices=[("auto", _("system")), ("light", _("light")), ("dark", _("dark"))]
    )
    disabled_at = models.DateTimeField(null=True, blank=True)

    @cached_property
    def platform_role_names(self) -> frozenset[str]:
        """Platform roles of this user object, read once per request."""
        return frozenset(self.platform_roles.values_list("role", flat=True))


class PlatformRole(models.Model):
    """A role on the whole platform."""

    class Role(models.TextChoices):
        FINANCE = "finance", _("finance")
        PLATFORM_ADMIN = "platform-admin", _("platform admin")

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="platform_roles")
    role = models.CharField(max_length=20, choices=Role)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "role"], name="platform_role_once")]

    def __str__(self) -> str:
        return self.role
