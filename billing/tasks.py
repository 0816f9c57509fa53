"""Celery entry points of billing: each calls one service. All are safe to run twice, late, or beside themselves."""

from collections.abc import Sequence

from celery import shared_task

from billing.services import costs, drafts, prices


@shared_task(name="billing.record_costs")
def record_costs(job_ids: Sequence[int] | None = None) -> None:
    """Final cost of jobs that ended: the named ones, or all that are not settled."""
    if job_ids is None:
        costs.settle_ended()
    else:
        costs.record_costs(job_ids)


@shared_task(name="billing.meter")
def meter() -> None:
    """Twice a minute: what ended, what running jobs cost so far, prices in force, drafts."""
    costs.meter_running()
    prices.publish_all()
    drafts.refresh_all()


@shared_task(name="billing.refresh_drafts")
def refresh_drafts() -> None:
    """Drafts of tenants that something was posted to."""
    drafts.refresh_outdated()


@shared_task(name="billing.publish_prices")
def publish_prices() -> None:
    """Prices in force, for estimates."""
    prices.publish_all()


@shared_task(name="billing.rerate")
def rerate(tenant_ids: Sequence[int]) -> None:
    """After a price changed: drafts and recorded costs of the tenants."""
    costs.rerate(tenant_ids)
    for tenant_id in tenant_ids:
        drafts.refresh_tenant(tenant_id, rated_anew=True)
