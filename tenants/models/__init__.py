"""Tables of tenants, quota and access; one concept a file."""

from tenants.models.access import ApiToken, IdempotencyKey, Secret, Volume
from tenants.models.notification import AuditEvent, Notification, Webhook
from tenants.models.pool import Cluster, Flavor, MaintenanceWindow, Pool, PoolCapacity
from tenants.models.queue import Queue
from tenants.models.quota import BudgetGate, Quota, QuotaRequest, QuotaTransfer, Resource
from tenants.models.tenant import Cohort, Membership, Project, Tenant
from tenants.models.user import PlatformRole, User

__all__ = [
    "ApiToken",
    "AuditEvent",
    "BudgetGate",
    "Cluster",
    "Cohort",
    "Flavor",
    "IdempotencyKey",
    "MaintenanceWindow",
    "Membership",
    "Notification",
    "PlatformRole",
    "Pool",
    "PoolCapacity",
    "Project",
    "Queue",
    "Quota",
    "QuotaRequest",
    "QuotaTransfer",
    "Resource",
    "Secret",
    "Tenant",
    "User",
    "Volume",
    "Webhook",
]
