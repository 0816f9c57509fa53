"""Tenants, the cohorts that lend among themselves, their projects and members."""

import pghistory
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from tenants.models.user import User
from tenants.scoping import scoped

SLUG_PATTERN = r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$"
SLUG = RegexValidator(SLUG_PATTERN, _("Use 1–40 lower-case letters, digits and hyphens; start with a letter."))
DEFAULT_WEIGHT_PPM = 1_000_000
WEIGHT_RANGE = Q(weight_ppm__gte=0, weight_ppm__lte=1_000_000_000)


@pghistory.track()
class Cohort(models.Model):
    """A node of the tree of tenants that lend to each other; its own quota is an extra pool (SCH-03)."""

    name = models.CharField(max_length=63, unique=True)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")
    weight_ppm = models.BigIntegerField(default=DEFAULT_WEIGHT_PPM)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=WEIGHT_RANGE, name="cohort_weight_in_range"),
            models.CheckConstraint(condition=~Q(parent=F("id")), name="cohort_not_its_own_parent"),
        ]

    def __str__(self) -> str:
        return self.name


@pghistory.track()
class Tenant(models.Model):
    """A team or customer. Its quota line is the total over its queues; money follows its zone and currency."""

    class Isolation(models.TextChoices):
        SHARED = "shared", _("shared pool")
        PARTITION = "partition", _("own partition")
        DEDICATED = "dedicated", _("own cluster")

    class ServiceTier(models.TextChoices):
        STANDARD = "standard", _("standard")
        PRIORITY = "priority", pgettext_lazy("service tier", "priority")

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        BUDGET_STOPPED = "budget-stopped", _("stopped by budget")
        CLOSING = "closing", _("closing")
        CLOSED = "closed", pgettext_lazy("tenant", "closed")

    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    name = models.CharField(max_length=120)
    cohort = models.ForeignKey(Cohort, null=True, blank=True, on_delete=models.PROTECT, related_name="tenants")
    weight_ppm = models.BigIntegerField(default=DEFAULT_WEIGHT_PPM)
    isolation = models.CharField(max_length=12, choices=Isolation, default=Isolation.SHARED)
    service_tier = models.CharField(max_length=12, choices=ServiceTier, default=ServiceTier.STANDARD)
    cost_centre = models.CharField(max_length=64, blank=True, default="")
    billing_timezone = models.CharField(max_length=64, default="UTC")
    currency = models.CharField(max_length=3, default="CNY", validators=[RegexValidator(r"^[A-Z]{3}$")])
    state = models.CharField(max_length=16, choices=State, default=State.ACTIVE)
    created_at = models.DateTimeField()

    objects = models.Manager.from_queryset(scoped(""))()

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.CheckConstraint(condition=WEIGHT_RANGE, name="tenant_weight_in_range"),
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="tenant_currency_is_iso_4217"),
            models.CheckConstraint(
                condition=Q(slug__regex=r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$"), name="tenant_slug_is_a_dns_label"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["active", "budget-stopped", "closing", "closed"]), name="tenant_state_known"
            ),
        ]

    def __str__(self) -> str:
        return self.slug


@pghistory.track()
class Membership(models.Model):
    """A user's role in a tenant for a stretch of time; history stays."""

    class Role(models.TextChoices):
        MEMBER = "member", _("member")
        ADMIN = "admin", _("admin")

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user"], condition=Q(valid_to__isnull=True), name="one_open_membership"
            ),
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True) | Q(valid_to__gte=F("valid_from")),
                name="membership_ends_after_start",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.tenant_id}: {self.role}"


class Project(models.Model):
    """An optional label with a budget, on jobs and ledger entries."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="projects")
    slug = models.CharField(max_length=63)
    name = models.CharField(max_length=120, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["tenant_id", "slug"]
        constraints = [models.UniqueConstraint(fields=["tenant", "slug"], name="project_once_a_tenant")]

    def __str__(self) -> str:
        return self.slug
