"""Rows that come by the million: transitions, observations, utilisation samples. Partitioned by time in SQL; see `partitions`.

The tables are made by migration (managed = False here): their real primary key is (at, id).
"""

from django.db import models

from tenants.scoping import scoped


class Transition(models.Model):
    """One state change of a job or run, written in the transaction that makes it."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField()
    job_id = models.BigIntegerField()
    run_id = models.BigIntegerField(null=True)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.DO_NOTHING, db_constraint=False)
    subject = models.CharField(max_length=4)
    old = models.CharField(max_length=10)
    new = models.CharField(max_length=10)
    reason = models.CharField(max_length=40)
    message = models.CharField(max_length=1000, default="")
    actor = models.CharField(max_length=150, default="")
    cycle_id = models.BigIntegerField(null=True)
    epoch = models.BigIntegerField(null=True)

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        managed = False
        db_table = "scheduling_transition"
        ordering = ["at", "id"]

    def __str__(self) -> str:
        return f"{self.old} → {self.new}"


class Observation(models.Model):
    """What a list or watch said of one object, before the loop acts on it. The only thing observation may write."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField()
    cluster_id = models.BigIntegerField()
    kind = models.CharField(max_length=10)
    name = models.CharField(max_length=320)
    uid = models.CharField(max_length=64, default="")
    document = models.JSONField(default=dict)
    handled_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "scheduling_observation"
        ordering = ["at", "id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class UtilisationSample(models.Model):
    """One card's utilisation (ppm) and VRAM in use at an instant, and who held it."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField()
    card_id = models.BigIntegerField()
    run_id = models.BigIntegerField(null=True)
    rank = models.PositiveIntegerField(null=True)
    busy_ppm = models.PositiveIntegerField()
    vram_mib = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "scheduling_utilisationsample"
        ordering = ["at", "id"]

    def __str__(self) -> str:
        return f"{self.card_id} {self.busy_ppm}"


class UtilisationHour(models.Model):
    """Roll-up by run, flavor and hour: held and sampled card-seconds (1/7000 card), busy card-seconds, peak VRAM."""

    hour = models.DateTimeField()
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE)
    queue = models.ForeignKey("tenants.Queue", on_delete=models.CASCADE)
    run_id = models.BigIntegerField()
    flavor = models.ForeignKey("tenants.Flavor", on_delete=models.CASCADE)
    held_units_s = models.BigIntegerField(default=0)
    sampled_units_s = models.BigIntegerField(default=0)
    busy_units_s = models.BigIntegerField(default=0)
    peak_vram_mib = models.BigIntegerField(null=True)

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["hour", "run_id", "flavor"], name="utilisation_hour_once")]
        indexes = [models.Index(fields=["queue", "hour"])]

    def __str__(self) -> str:
        return f"{self.run_id} {self.hour}"
