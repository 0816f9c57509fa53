"""How Berth uses Celery: what rings when, and how long anybody waits for the broker."""

from datetime import timedelta
from typing import Any

BROKER_TIMEOUT_S = 0.5
"""A page that submits a job must not wait for a dead broker (DESIGN section 6)."""

LONGEST_TASK_S = 900
VISIBILITY_TIMEOUT_S = 2 * LONGEST_TASK_S
"""Longer than the longest task, or Valkey would hand a task that still runs to a second worker."""

CYCLE_PERIOD_S = 1.0


def celery_settings(broker_url: str) -> dict[str, Any]:
    """Django settings in the CELERY_ namespace."""
    return {
        "CELERY_BROKER_URL": broker_url,
        "CELERY_BROKER_CONNECTION_TIMEOUT": BROKER_TIMEOUT_S,
        "CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP": True,
        "CELERY_BROKER_CONNECTION_MAX_RETRIES": None,
        "CELERY_BROKER_TRANSPORT_OPTIONS": {
            "socket_connect_timeout": BROKER_TIMEOUT_S,
            "socket_timeout": BROKER_TIMEOUT_S,
            "retry_on_timeout": False,
            "visibility_timeout": VISIBILITY_TIMEOUT_S,
            # For publishers: one try. Workers reconnect for ever by the settings above.
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0,
            "interval_max": 0,
        },
        "CELERY_TASK_PUBLISH_RETRY": False,
        "CELERY_TASK_ACKS_LATE": True,
        "CELERY_TASK_REJECT_ON_WORKER_LOST": True,
        "CELERY_TASK_IGNORE_RESULT": True,
        "CELERY_TASK_TIME_LIMIT": LONGEST_TASK_S,
        "CELERY_WORKER_PREFETCH_MULTIPLIER": 1,
        "CELERY_WORKER_HIJACK_ROOT_LOGGER": False,
        "CELERY_WORKER_SEND_TASK_EVENTS": False,
        "CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS": False,
        "CELERY_TIMEZONE": "UTC",
        "CELERY_BEAT_SCHEDULE": _schedule(),
    }


def _schedule() -> dict[str, dict[str, Any]]:
    """Every message expires with its period: a worker that was away finds one cycle to run, not a thousand."""
    periods = {
        "scheduling.cycle": timedelta(seconds=CYCLE_PERIOD_S),
        "scheduling.observe": timedelta(seconds=2),
        "scheduling.sweep": timedelta(seconds=10),
        "scheduling.forecast": timedelta(seconds=5),
        "scheduling.sample": timedelta(seconds=15),
        "scheduling.ask_prometheus": timedelta(seconds=60),
        "scheduling.measure_use": timedelta(seconds=60),
        "scheduling.reconcile_tenants": timedelta(seconds=10),
        "billing.record_costs": timedelta(seconds=2),
        "billing.meter": timedelta(seconds=30),
        "billing.refresh_drafts": timedelta(seconds=10),
        "scheduling.maintain_partitions": timedelta(hours=6),
        "tenants.forget_idempotency_keys": timedelta(hours=1),
        "berth.keep_demo_busy": timedelta(seconds=5),
    }
    return {
        name: {"task": name, "schedule": period, "options": {"expires": period.total_seconds()}}
        for name, period in periods.items()
    }
