"""Celery's door to the control loop: each task makes one call. The broker is an alarm clock; nothing is lost with a message."""

from functools import cache

from celery import shared_task

from berth.common import clock
from scheduling.control.forecasting import Forecaster
from scheduling.control.loop import Loop
from scheduling.control.observe import Observer
from scheduling.control.pace import is_rested
from scheduling.control.prometheus import ask_prometheus as run_ask_prometheus
from scheduling.control.sampling import sample_cards
from scheduling.control.sweep import sweep as run_sweep
from scheduling.control.tenant_spaces import reconcile_tenants as run_reconcile_tenants
from scheduling.services.partitions import maintain_partitions as run_maintain_partitions
from scheduling.services.queue_use import measure_use as run_measure_use


@cache
def _loop() -> Loop:
    """One per worker child: made after fork, on first use."""
    return Loop()


@cache
def _observer() -> Observer:
    return Observer()


@cache
def _forecaster() -> Forecaster:
    return Forecaster()


@shared_task(name="scheduling.cycle", ignore_result=True)
def cycle() -> None:
    """One turn of the loop; at once done when another process leads (Q05) or the last turn was only just now."""
    if is_rested():
        _loop().turn()


@shared_task(name="scheduling.observe", ignore_result=True)
def observe() -> None:
    """One look at the clusters, unless the observer process just took one."""
    _observer().observe_if_due()


@shared_task(name="scheduling.sweep", ignore_result=True)
def sweep() -> None:
    """What a lost ring forgot."""
    run_sweep()


@shared_task(name="scheduling.sample", ignore_result=True)
def sample() -> None:
    """What cards report now, and the hours it belongs to."""
    sample_cards()


@shared_task(name="scheduling.ask_prometheus", ignore_result=True)
def ask_prometheus() -> None:
    """What exporters say of cards, where a Prometheus server is set."""
    run_ask_prometheus()


@shared_task(name="scheduling.measure_use", ignore_result=True)
def measure_use() -> None:
    """How busy the cards of each queue were in the last 7 days."""
    run_measure_use(now=clock.now())


@shared_task(name="scheduling.reconcile_tenants", ignore_result=True)
def reconcile_tenants() -> None:
    """Tenants' namespaces in real clusters as they should be."""
    run_reconcile_tenants()


@shared_task(name="scheduling.forecast", ignore_result=True)
def forecast() -> None:
    """Start ranges of waiting jobs, where something changed."""
    _forecaster().forecast_if_changed()


@shared_task(name="scheduling.maintain_partitions", ignore_result=True)
def maintain_partitions() -> None:
    """Partitions for the months ahead, and none that nobody keeps."""
    run_maintain_partitions()
