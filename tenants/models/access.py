"""What a tenant's scripts and pods use: API tokens, idempotency keys, secrets and volumes by reference."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _
from knox.models import AbstractAuthToken, AuthTokenManager
from knox.settings import CONSTANTS

from tenants.models.tenant import Tenant
from tenants.models.user import User
from tenants.scoping import scoped


class ApiToken(AbstractAuthToken):
    """A named token with scopes; only its digest is stored, the secret is shown once."""

    digest = models.CharField(max_length=CONSTANTS.DIGEST_LENGTH, unique=True)
    name = models.CharField(max_length=80)
    scopes = ArrayField(models.CharField(max_length=20), default=list)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = AuthTokenManager()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class IdempotencyKey(models.Model):
    """The answer that a repeated POST gets: unique per user and key; nothing is stored when validation failed."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    method_path = models.CharField(max_length=300)
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once")]

    def __str__(self) -> str:
        return self.key


class Secret(models.Model):
    """A secret of a tenant's environment, by name and key names; values live in the cluster only, never in a row."""

    class Kind(models.TextChoices):
        ENV = "env", _("environment")
        IMAGE_PULL = "image-pull", _("image pull")

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="secrets")
    environment = models.CharField(max_length=4)
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=12, choices=Kind, default=Kind.ENV)
    keys = ArrayField(models.CharField(max_length=253), default=list)
    store_ref = models.CharField(max_length=200, blank=True, default="")
    updated_at = models.DateTimeField()

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "environment", "name"], name="secret_once")]

    def __str__(self) -> str:
        return self.name


class Volume(models.Model):
    """A storage claim of a tenant's environment."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="volumes")
    environment = models.CharField(max_length=4)
    name = models.CharField(max_length=63)
    size_gib = models.PositiveIntegerField()
    storage_class = models.CharField(max_length=63, blank=True, default="")
    exempt_from_reclaim = models.BooleanField(default=False)
    last_mounted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "environment", "name"], name="volume_once")]

    def __str__(self) -> str:
        return self.name
