"""A tenant's line of jobs."""

import pghistory
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from tenants.models.pool import Pool
from tenants.models.tenant import DEFAULT_WEIGHT_PPM, SLUG, WEIGHT_RANGE, Tenant
from tenants.scoping import scoped

DEFAULT_LOAN_PERIOD_S = 4 * 3600


@pghistory.track()
class Queue(models.Model):
    """Jobs of a queue run in its pool and environment; the queue is a leaf of the quota tree."""

    class Environment(models.TextChoices):
        PROD = "prod", _("prod")
        DEV = "dev", _("dev")

    class Tier(models.TextChoices):
        PRODUCTION = "production", _("production")
        DEVELOPMENT = "development", _("development")
        BATCH = "batch", _("batch")

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("queue", "open")
        DRAINING = "draining", _("draining")
        CLOSED = "closed", _("closed")

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="queues")
    name = models.CharField(max_length=40, validators=[SLUG])
    environment = models.CharField(max_length=4, choices=Environment, default=Environment.DEV)
    default_tier = models.CharField(max_length=12, choices=Tier, default=Tier.DEVELOPMENT)
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="queues")
    weight_ppm = models.BigIntegerField(default=DEFAULT_WEIGHT_PPM)
    effective_weight_ppm = models.BigIntegerField(default=DEFAULT_WEIGHT_PPM)
    loan_period_s = models.PositiveIntegerField(default=DEFAULT_LOAN_PERIOD_S)
    strict_expiry = models.BooleanField(default=False)
    max_pool_share_ppm = models.BigIntegerField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["tenant_id", "name"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="queue_once_a_tenant"),
            models.CheckConstraint(condition=WEIGHT_RANGE, name="queue_weight_in_range"),
            models.CheckConstraint(
                condition=Q(loan_period_s__gte=60, loan_period_s__lte=30 * 86_400), name="queue_loan_period_in_range"
            ),
            models.CheckConstraint(
                condition=Q(max_pool_share_ppm__isnull=True)
                | Q(max_pool_share_ppm__gt=0, max_pool_share_ppm__lte=1_000_000),
                name="queue_pool_share_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tenant.slug}/{self.name}"
