"""Django app: what runs next."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SchedulingConfig(AppConfig):
    name = "scheduling"
    verbose_name = _("Scheduling")

    def ready(self) -> None:
        """Tell tenants which jobs hold one to its terms."""
        from scheduling.selectors.unfinished import holding_jobs, waiting_jobs
        from tenants.services.commitments import Commitment, register

        register(Commitment.WAITING_JOBS, waiting_jobs)
        register(Commitment.HOLDING_JOBS, holding_jobs)
