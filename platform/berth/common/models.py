"""The anchor of the business clock: one row that every process reads, so that all of them agree on the time."""

from django.db import models


class ClockAnchor(models.Model):
    """Business time was `business_at` when wall time was `wall_at`; it runs at `scale` until `seen_wall_at` at least."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    business_at = models.DateTimeField()
    wall_at = models.DateTimeField()
    seen_wall_at = models.DateTimeField()
    scale = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="clock_anchor_is_one_row"),
            models.CheckConstraint(condition=models.Q(scale__gte=1, scale__lte=86_400), name="clock_scale_in_range"),
        ]

    def __str__(self) -> str:
        return f"business {self.business_at} at wall {self.wall_at} ×{self.scale}"
