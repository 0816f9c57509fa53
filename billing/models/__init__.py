"""Tables of money; one concept a file. What must never change is guarded by triggers, not by good manners."""

from billing.models.adjustment import Adjustment
from billing.models.budget import Budget
from billing.models.idle import IdleAssessment
from billing.models.ledger import LedgerEntry
from billing.models.period import BillingPeriod
from billing.models.price import PriceBook, Rate
from billing.models.statement import Statement, StatementCounter, StatementLine

__all__ = [
    "Adjustment",
    "BillingPeriod",
    "Budget",
    "IdleAssessment",
    "LedgerEntry",
    "PriceBook",
    "Rate",
    "Statement",
    "StatementCounter",
    "StatementLine",
]
