"""Who may operate a job: its own user, and the tenant's admin for everybody's."""

from scheduling.models import Job
from tenants.models import User
from tenants.permissions import Action, require


def require_operator(user: User, job: Job) -> None:
    """Raises ForbiddenError. The job must be visible to the user already."""
    own = job.user_id == user.pk
    require(user, Action.JOB_OPERATE if own else Action.JOB_OPERATE_ANY, job.tenant)
