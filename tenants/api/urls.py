"""Addresses of tenants below `/api/v1/`, without a slash at the end."""

from rest_framework.routers import SimpleRouter

from tenants.api.me import MeViewSet

router = SimpleRouter(trailing_slash=False)
router.register("me", MeViewSet, basename="me")

urlpatterns = router.urls
