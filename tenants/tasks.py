"""Celery's door to tenants: each task makes one call and may run any number of times."""

from celery import shared_task

from tenants.services.idempotency import forget_old_keys


@shared_task(name="tenants.forget_idempotency_keys", ignore_result=True)
def forget_idempotency_keys() -> None:
    """Answers are replayed for a day and then forgotten."""
    forget_old_keys()
