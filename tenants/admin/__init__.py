"""Django admin of tenants, quota and supply: for platform admins (edit) and finance (read)."""

from tenants.admin import people, quota, supply, tenant, trail

__all__ = ["people", "quota", "supply", "tenant", "trail"]
