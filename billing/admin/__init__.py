"""Django admin of prices and documents: finance and platform admins set prices; periods, statements and the ledger are for reading."""

from billing.admin import documents, prices

__all__ = ["documents", "prices"]
