"""Clusters, pools, flavors and maintenance windows."""

from decimal import Decimal

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from berth.common.units import from_ppm, mib_to_gib
from tenants.access.admin_pages import RoleAdmin, RoleInline
from tenants.models import Cluster, Flavor, MaintenanceWindow, Pool, PoolCapacity
from tenants.permissions import Action


def _ratio(ppm: int | None) -> Decimal | None:
    return None if ppm is None else from_ppm(ppm)


@admin.register(Cluster)
class ClusterAdmin(RoleAdmin):
    """Whether it answers is observed, not set."""

    view, change = Action.SUPPLY_READ, Action.NODE_OPERATE
    list_display = ("name", "kind", "region", "reachable", "last_listed_at")
    readonly_fields = ("reachable", "last_listed_at", "last_error")


class FlavorInline(RoleInline):
    model = Flavor
    view = Action.SUPPLY_READ
    fields = readonly_fields = ("name", "card_model", "mode", "vram_mib", "weight_ppm")


class CapacityInline(RoleInline):
    model = PoolCapacity
    view = Action.SUPPLY_READ
    fields = readonly_fields = ("resource", "flavor", "amount", "recorded_at")


class MaintenanceInline(RoleInline):
    model = MaintenanceWindow
    view, change = Action.SUPPLY_READ, Action.NODE_OPERATE


@admin.register(Pool)
class PoolAdmin(RoleAdmin):
    """The list tells factor and watermarks as people write them; the form takes parts per million: 1,200,000 is a factor of 1.2."""

    view, change = Action.SUPPLY_READ, Action.NODE_OPERATE
    list_display = ("name", "cluster", "sharing", "tenant", "factor", "high", "low", "time_sharing", "draining")
    list_filter = ("sharing", "time_sharing", "draining")
    list_select_related = ("cluster", "tenant")
    inlines = (FlavorInline, CapacityInline, MaintenanceInline)

    @admin.display(description=_("factor"), ordering="factor_ppm")
    def factor(self, row: Pool) -> Decimal | None:
        return _ratio(row.factor_ppm)

    @admin.display(description=_("high watermark"), ordering="high_ppm")
    def high(self, row: Pool) -> Decimal | None:
        return _ratio(row.high_ppm)

    @admin.display(description=_("low watermark"), ordering="low_ppm")
    def low(self, row: Pool) -> Decimal | None:
        return _ratio(row.low_ppm)


@admin.register(Flavor)
class FlavorAdmin(RoleAdmin):
    view, change = Action.SUPPLY_READ, Action.NODE_OPERATE
    list_display = ("name", "pool", "card_model", "mode", "mig_profile", "vram", "weight", "speed")
    list_filter = ("mode", "pool")
    search_fields = ("name", "card_model")
    list_select_related = ("pool",)

    @admin.display(description=_("VRAM GiB"), ordering="vram_mib")
    def vram(self, row: Flavor) -> Decimal | None:
        return None if row.vram_mib is None else mib_to_gib(row.vram_mib)

    @admin.display(description=_("weight"), ordering="weight_ppm")
    def weight(self, row: Flavor) -> Decimal | None:
        return _ratio(row.weight_ppm)

    @admin.display(description=_("speed"), ordering="speed_ppm")
    def speed(self, row: Flavor) -> Decimal | None:
        return _ratio(row.speed_ppm)
