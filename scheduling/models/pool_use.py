"""How over-committed pools are used, as the last sample found it (SCH-15)."""

from django.db import models
from django.db.models import Q

from tenants.models import Pool


class PoolUse(models.Model):
    """One row a pool whose factor is above 1. `samples_above` counts samples in a row above the high watermark, the newest included,
    since somebody last had to leave for it (`relieved_at`). `measured`: by samples of cards, else by what is allocated.
    """

    pool = models.OneToOneField(Pool, on_delete=models.CASCADE, primary_key=True, related_name="use")
    used_ppm = models.BigIntegerField(default=0)
    measured = models.BooleanField(default=False)
    samples_above = models.PositiveIntegerField(default=0)
    sampled_at = models.DateTimeField(null=True, blank=True)
    relieved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(used_ppm__gte=0), name="pool_use_not_negative")]

    def __str__(self) -> str:
        return f"{self.pool_id}: {self.used_ppm}"
