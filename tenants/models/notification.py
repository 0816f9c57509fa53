"""What people and systems are told, and the trail of who did what."""

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models

from tenants.models.tenant import Tenant
from tenants.models.user import User
from tenants.scoping import scoped


class Notification(models.Model):
    """A message to a tenant or one user: a reason code with its numbers, rendered in the reader's language."""

    tenant = models.ForeignKey(Tenant, null=True, blank=True, on_delete=models.CASCADE, related_name="notifications")
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="notifications")
    code = models.CharField(max_length=60)
    params = models.JSONField(default=dict)
    job_id = models.BigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["tenant", "-id"])]

    def __str__(self) -> str:
        return self.code


class Webhook(models.Model):
    """Where a tenant wants events sent, signed with a secret held by reference."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=500)
    events = ArrayField(models.CharField(max_length=60), default=list)
    secret_ref = models.CharField(max_length=200, blank=True, default="")
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    objects = models.Manager.from_queryset(scoped("tenant"))()

    def __str__(self) -> str:
        return self.url


class AuditEvent(models.Model):
    """Who did what to what, downloads included; insert-only by trigger. Edits of quota and price also have pghistory's trail."""

    at = models.DateTimeField()
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    actor_name = models.CharField(max_length=150, blank=True, default="")
    tenant = models.ForeignKey(Tenant, null=True, on_delete=models.SET_NULL, related_name="+")
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=40)
    object_id = models.CharField(max_length=120)
    detail = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["object_type", "object_id"]), models.Index(fields=["tenant", "-id"])]
        triggers = [pgtrigger.Protect(name="audit_is_append_only", operation=pgtrigger.Update | pgtrigger.Delete)]

    def __str__(self) -> str:
        return f"{self.action} {self.object_type} {self.object_id}"
