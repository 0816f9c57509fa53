"""Django admin of tenants, quota and supply: for platform admins (edit) and finance (read)."""

from tenants.admin import people, supply, tenant, trail

__all__ = ["people", "supply", "tenant", "trail"]
