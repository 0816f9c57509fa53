"""Addresses of billing below `/api/v1/`, without a slash at the end."""

from rest_framework.routers import SimpleRouter

from billing.api.adjustments import AdjustmentViewSet
from billing.api.lines import LineViewSet
from billing.api.periods import PeriodViewSet
from billing.api.prices import PriceBookViewSet, RateViewSet
from billing.api.statements import StatementViewSet
from billing.api.usage import UsageViewSet

router = SimpleRouter(trailing_slash=False)
router.register("statements", StatementViewSet, basename="statement")
router.register(r"statements/(?P<number>[^/]+)/lines", LineViewSet, basename="statement-line")
router.register("price-books", PriceBookViewSet, basename="price-book")
router.register("rates", RateViewSet, basename="rate")
router.register("adjustments", AdjustmentViewSet, basename="adjustment")
router.register("periods", PeriodViewSet, basename="period")
router.register("usage", UsageViewSet, basename="usage")

urlpatterns = router.urls
