"""Idle assessments: how much of a granted quota was used over a quarter, and what is proposed for the next (BIL-11)."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeBoundary, RangeOperators
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from tenants.models import Flavor, Tenant, User
from tenants.models.quota import TsTzRange
from tenants.scoping import scoped


class IdleAssessment(models.Model):
    """Card-time of one tenant and flavor over a quarter, in 1/7000 card × seconds; quotas in milli-cards; shares in ppm."""

    class State(models.TextChoices):
        DRY_RUN = "dry-run", _("dry run")
        PROPOSED = "proposed", _("proposed")
        CONFIRMED = "confirmed", _("confirmed")
        APPEALED = "appealed", _("appealed")
        WITHDRAWN = "withdrawn", _("withdrawn")

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="idle_assessments")
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT, related_name="+")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    granted_u7000_s = models.DecimalField(max_digits=30, decimal_places=0)
    busy_u7000_s = models.DecimalField(max_digits=30, decimal_places=0)
    lent_u7000_s = models.DecimalField(max_digits=30, decimal_places=0)
    coverage_ppm = models.BigIntegerField()
    granted = models.BigIntegerField()
    proposed = models.BigIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.DRY_RUN)
    created_at = models.DateTimeField()
    decided_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    appeal = models.CharField(max_length=1000, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="assessment_ends_after_start"),
            models.CheckConstraint(
                condition=Q(coverage_ppm__gte=0, coverage_ppm__lte=1_000_000), name="assessment_coverage_is_a_share"
            ),
            models.CheckConstraint(condition=Q(granted__gte=0, proposed__gte=0), name="assessment_quota_not_negative"),
            ExclusionConstraint(
                name="assessment_once_a_quarter",
                condition=~Q(state="withdrawn"),
                expressions=[
                    ("tenant", RangeOperators.EQUAL),
                    ("flavor", RangeOperators.EQUAL),
                    (TsTzRange("starts_at", "ends_at", RangeBoundary()), RangeOperators.OVERLAPS),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.granted} → {self.proposed}"
