"""Adjustments: corrections by hand, posted to an open period, that refer to what they correct (BIL-07)."""

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from berth.common.money import money_text
from billing.models.ledger import OPEN_PERIOD
from billing.models.period import BillingPeriod
from tenants.models import Tenant, User
from tenants.scoping import scoped


class Adjustment(models.Model):
    """An amount added to a period's statement; negative gives money back. It is corrected by another one, never edited."""

    class Kind(models.TextChoices):
        ADJUSTMENT = "adjustment", _("adjustment")
        CREDIT = "credit", _("credit")

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="adjustments")
    period = models.ForeignKey(BillingPeriod, on_delete=models.PROTECT, related_name="adjustments")
    refers_to = models.ForeignKey("billing.Statement", null=True, on_delete=models.PROTECT, related_name="corrected_by")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.ADJUSTMENT)
    amount = models.DecimalField(max_digits=20, decimal_places=6)
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=1000)
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=~Q(amount=0), name="adjustment_changes_something"),
            models.CheckConstraint(condition=~Q(kind="credit") | Q(amount__lt=0), name="credit_gives_back"),
            models.CheckConstraint(condition=~Q(reason=""), name="adjustment_says_why"),
        ]
        triggers = [
            pgtrigger.Protect(name="adjustment_is_append_only", operation=pgtrigger.Update | pgtrigger.Delete),
            pgtrigger.Trigger(
                name="adjustment_posts_to_open",
                level=pgtrigger.Statement,
                when=pgtrigger.After,
                operation=pgtrigger.Insert,
                referencing=pgtrigger.Referencing(new="added"),
                func=OPEN_PERIOD,
            ),
        ]

    def __str__(self) -> str:
        return f"{money_text(self.amount, self.currency)} {self.currency}"
