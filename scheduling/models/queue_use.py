"""What a queue has used, one row a queue: decayed use, and how busy the cards were that it held in the last days (SCH-06)."""

from django.db import models

from tenants.models import Queue


class QueueUse(models.Model):
    """`decayed_card_ms` is card-equivalent time of closed segments, decayed to `as_of`; reading decays it on.

    `held_units_s`, `sampled_units_s` and `busy_units_s` (1/7000 card x seconds) are of `measured_from` to `measured_at`; both are
    null until somebody looked.
    """

    queue = models.OneToOneField(Queue, primary_key=True, on_delete=models.CASCADE, related_name="+")
    decayed_card_ms = models.BigIntegerField(default=0)
    as_of = models.DateTimeField()
    held_units_s = models.BigIntegerField(default=0)
    sampled_units_s = models.BigIntegerField(default=0)
    busy_units_s = models.BigIntegerField(default=0)
    measured_from = models.DateTimeField(null=True)
    measured_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["queue_id"]

    def __str__(self) -> str:
        return f"{self.pk}: {self.decayed_card_ms}"
