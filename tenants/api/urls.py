"""Addresses of tenants below `/api/v1/`, without a slash at the end."""

from rest_framework.routers import SimpleRouter

from tenants.api.me import MeViewSet
from tenants.api.members import MemberViewSet
from tenants.api.notifications import NotificationViewSet
from tenants.api.quota_requests import QuotaRequestViewSet
from tenants.api.quota_transfers import QuotaTransferViewSet
from tenants.api.tenants import TenantViewSet
from tenants.api.tokens import TokenViewSet

router = SimpleRouter(trailing_slash=False)
router.register("me", MeViewSet, basename="me")
router.register("tenants", TenantViewSet, basename="tenant")
router.register(r"tenants/(?P<slug>[^/]+)/members", MemberViewSet, basename="member")
router.register("tokens", TokenViewSet, basename="token")
router.register("quota-requests", QuotaRequestViewSet, basename="quota-request")
router.register("quota-transfers", QuotaTransferViewSet, basename="quota-transfer")
router.register("notifications", NotificationViewSet, basename="notification")

urlpatterns = router.urls
