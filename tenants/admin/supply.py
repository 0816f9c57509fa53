"""Clusters, pools, flavors and maintenance windows."""

from django.contrib import admin

from tenants.access.admin_pages import RoleAdmin, RoleInline
from tenants.models import Cluster, Flavor, MaintenanceWindow, Pool, PoolCapacity
from tenants.permissions import Action


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
    """Factor and watermarks in parts per million: 1,200,000 is a factor of 1.2."""

    view, change = Action.SUPPLY_READ, Action.NODE_OPERATE
    list_display = ("name", "cluster", "sharing", "tenant", "factor_ppm", "high_ppm", "low_ppm", "draining")
    list_filter = ("sharing", "draining")
    list_select_related = ("cluster", "tenant")
    inlines = (FlavorInline, CapacityInline, MaintenanceInline)


@admin.register(Flavor)
class FlavorAdmin(RoleAdmin):
    view, change = Action.SUPPLY_READ, Action.NODE_OPERATE
    list_display = ("name", "pool", "card_model", "mode", "mig_profile", "vram_mib", "weight_ppm", "speed_ppm")
    list_filter = ("mode", "pool")
    search_fields = ("name", "card_model")
    list_select_related = ("pool",)
