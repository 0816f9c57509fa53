"""Billing periods: a tenant's months, tiled without gap or overlap for ever (B36, BIL-07)."""

import pgtrigger
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeBoundary, RangeOperators
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from tenants.models import Tenant, User
from tenants.models.quota import TsTzRange
from tenants.scoping import scoped

TOUCHES = """
    IF EXISTS (SELECT 1 FROM billing_billingperiod WHERE tenant_id = NEW.tenant_id)
       AND NOT EXISTS (SELECT 1 FROM billing_billingperiod
                        WHERE tenant_id = NEW.tenant_id AND (ends_at = NEW.starts_at OR starts_at = NEW.ends_at)) THEN
        RAISE EXCEPTION 'period % leaves a gap beside the other periods of its tenant', NEW.label
              USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
"""


class BillingPeriod(models.Model):
    """One month of a tenant, [starts_at, ends_at) in UTC. `timezone` is the zone its end and its days were taken from.

    A change of the tenant's zone shows in periods made after it: they start where the one before ended.
    """

    class State(models.TextChoices):
        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="billing_periods")
    label = models.CharField(max_length=7)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    timezone = models.CharField(max_length=64)
    state = models.CharField(max_length=6, choices=State, default=State.OPEN)
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["tenant_id", "starts_at"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "label"], name="period_once_a_month"),
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="period_ends_after_start"),
            models.CheckConstraint(
                condition=Q(state="open", closed_at__isnull=True) | Q(state="closed", closed_at__isnull=False),
                name="period_closed_has_an_instant",
            ),
            ExclusionConstraint(
                name="period_overlaps_none",
                expressions=[
                    ("tenant", RangeOperators.EQUAL),
                    (TsTzRange("starts_at", "ends_at", RangeBoundary()), RangeOperators.OVERLAPS),
                ],
            ),
        ]
        triggers = [
            pgtrigger.ReadOnly(name="period_is_frozen", exclude=["state", "closed_at", "closed_by"]),
            pgtrigger.FSM(name="period_closes_once", field="state", transitions=[("open", "closed")]),
            pgtrigger.Protect(name="period_stays", operation=pgtrigger.Delete),
            pgtrigger.Trigger(name="period_touches", when=pgtrigger.Before, operation=pgtrigger.Insert, func=TOUCHES),
        ]

    def __str__(self) -> str:
        return self.label
