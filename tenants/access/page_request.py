"""The request as a page for signed-in people gets it: behind `login_required`, after PersonMiddleware."""

from django.http import HttpRequest

from tenants.models import Tenant, User


class PageRequest(HttpRequest):
    """For annotations only: Django makes the requests. Annotate a view with it only under `login_required`."""

    user: User
    tenant: Tenant | None
    """Lazy, hence never None itself: ask `request.tenant or None`."""
