"""Django app: what it cost."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BillingConfig(AppConfig):
    name = "billing"
    verbose_name = _("Billing")

    def ready(self) -> None:
        """Tell tenants which statements hold one to its terms."""
        from billing.services.commitments import open_statements
        from tenants.services.commitments import Commitment, register

        register(Commitment.OPEN_STATEMENTS, open_statements)
