"""Rows for tests, one concept a file: plain functions with defaults that are valid, every name unique. Amounts are in cards, cores and GiB."""

from tests.factories.jobs import a_job, a_lease, a_run
from tests.factories.names import unique
from tests.factories.nodes import a_node
from tests.factories.people import a_finance_user, a_membership, a_platform_admin, a_token, a_user
from tests.factories.pools import a_cluster, a_flavor, a_pool
from tests.factories.queues import a_queue, a_quota
from tests.factories.tenants import a_cohort, a_member_of, a_tenant, an_admin_of, an_outsider_member

__all__ = [
    "a_cluster",
    "a_cohort",
    "a_finance_user",
    "a_flavor",
    "a_job",
    "a_lease",
    "a_member_of",
    "a_membership",
    "a_node",
    "a_platform_admin",
    "a_pool",
    "a_queue",
    "a_quota",
    "a_run",
    "a_tenant",
    "a_token",
    "a_user",
    "an_admin_of",
    "an_outsider_member",
    "unique",
]
