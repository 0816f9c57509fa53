"""Budgets: what a tenant, queue or project means to spend a month, and what happens near and at it (BIL-10)."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from tenants.models import Project, Queue, Tenant
from tenants.scoping import scoped

DEFAULT_ALERT_PERCENT = (50, 80, 100)


def default_alerts() -> list[int]:
    """Shares of a budget, in percent, at which its people are told."""
    return list(DEFAULT_ALERT_PERCENT)


class Budget(models.Model):
    """Monthly amount of a tenant as a whole, of one queue or of one project. The gate that `apply` passes is in tenants."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="budgets")
    queue = models.ForeignKey(Queue, null=True, blank=True, on_delete=models.PROTECT, related_name="budgets")
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.PROTECT, related_name="budgets")
    amount = models.DecimalField(max_digits=20, decimal_places=6)
    currency = models.CharField(max_length=3)
    alert_percent = ArrayField(models.PositiveSmallIntegerField(), default=default_alerts)
    hard_stop = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "queue", "project"],
                condition=Q(ended_at__isnull=True),
                nulls_distinct=False,
                name="budget_one_in_force",
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="budget_amount_not_negative"),
            models.CheckConstraint(
                condition=Q(queue__isnull=True) | Q(project__isnull=True), name="budget_of_one_thing"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"
