"""Changes of the size of running jobs, as they were decided (SCH-10)."""

from django.db import models
from django.db.models import Q

from scheduling.models.run import Run
from tenants.scoping import scoped


class RunResize(models.Model):
    """`role_name` of a run has `new` pods instead of `old` from `at` on, by the plan; the pods' own times say when that was true."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="resizes")
    at = models.DateTimeField()
    role_name = models.CharField(max_length=40)
    old = models.PositiveIntegerField()
    new = models.PositiveIntegerField()
    reason = models.CharField(max_length=40)
    cycle_id = models.BigIntegerField(null=True, blank=True)

    objects = models.Manager.from_queryset(scoped("run__job__tenant"))()

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(old=models.F("new")), name="resize_changes_the_size")]

    def __str__(self) -> str:
        return f"{self.role_name} {self.old} -> {self.new}"
