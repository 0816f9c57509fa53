"""What is kept of pods' output: where it lies in the file store, and what is not there and why."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduling.models.run import Pod
from tenants.models import Tenant
from tenants.scoping import scoped


class PodLog(models.Model):
    """One pod's kept output, or why there is none. `path` names it in the store (empty: nothing there), `size` is its bytes there.

    `whole` means that it was read after the pod had written its last line; `cut` that older lines are left out.
    """

    class Missing(models.TextChoices):
        NOTHING = "nothing", _("the cluster had none")
        UNREACHABLE = "unreachable", _("the cluster did not answer")
        GONE = "gone", _("the pod was gone before it could be read")
        STORE = "store", _("the store took nothing more")
        DROPPED = "dropped", _("dropped to stay within the tenant's room")

    pod = models.OneToOneField(Pod, on_delete=models.PROTECT, related_name="log")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    kept_at = models.DateTimeField()
    path = models.CharField(max_length=300, blank=True, default="")
    size = models.PositiveBigIntegerField(default=0)
    whole = models.BooleanField(default=False)
    cut = models.BooleanField(default=False)
    missing = models.CharField(max_length=12, choices=Missing, blank=True, default="")
    message = models.CharField(max_length=500, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["pod_id"]
        indexes = [models.Index(fields=["tenant", "id"], condition=~Q(path=""), name="pod_log_in_store")]

    def __str__(self) -> str:
        return self.path or self.missing
