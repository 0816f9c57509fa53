"""How much memory of its cards the last run of a job of this name needed, against what it had (SCH-26)."""

from dataclasses import dataclass

from django.db.models import Q

from scheduling.models import Run
from scheduling.states import EndReason


@dataclass(frozen=True, slots=True)
class VramUse:
    """MiB a card. `peak_mib` is None where no sample was told; `ran_out`: the run ended because its cards' memory did."""

    job: int
    run: int
    had_mib: int
    peak_mib: int | None
    ran_out: bool


def last_vram_use(tenant_id: int, name: str) -> VramUse | None:
    """Of the newest ended run of the tenant's jobs of that name which tells anything; None where none does. Two queries."""
    run = (
        Run.objects.filter(job__tenant_id=tenant_id, job__name=name, ended_at__isnull=False)
        .filter(Q(peak_vram_mib__isnull=False) | Q(end_reason=EndReason.GPU_OOM.value))
        .order_by("-job_id", "-number")
        .first()
    )
    had_mib = 0 if run is None else _had_mib(run)
    if run is None or not had_mib:
        return None
    return VramUse(run.job_id, run.number, had_mib, run.peak_vram_mib, run.end_reason == EndReason.GPU_OOM.value)


def _had_mib(run: Run) -> int:
    """The most that one of its pods had of a card: a share's cap, else all of the card or instance; 0 where nobody knows."""
    rows = run.leases.filter(flavor__isnull=False).values_list("vram_mib", "flavor__vram_mib").distinct()
    return max((cap or whole for cap, whole in rows), default=0)
