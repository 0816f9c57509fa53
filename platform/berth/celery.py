"""The Celery application: an alarm clock that rings periodic work, never a place for business rules.

PostgreSQL holds the truth, so a lost message costs a second at most. Hence publishing gives up after half a second
instead of making a page wait, messages expire with their period, and results are not kept.
"""

import os
import signal

from celery import Celery
from celery.signals import worker_process_init

from berth.localstack.lifeline import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")

NICER = 5
"""Steps of the scheduler's courtesy: about a third of the processor time that the web server gets when both want all of it."""

app = Celery("berth")
app.Task.Request = "berth.unheard_answers:InsistentRequest"
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_process_init.connect
def _end_with_the_worker(**_kwargs: object) -> None:
    """A pool process must not outlive a worker that was killed: its half-done task would run beside the next one."""
    die_with_parent(signal.SIGKILL)


@worker_process_init.connect
def _step_back_for_the_web(**_kwargs: object) -> None:
    """Where cores are few, a person's page or submit comes before the plan that it waits for; idle cores are used all the same."""
    os.nice(NICER)
