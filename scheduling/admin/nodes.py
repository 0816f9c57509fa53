"""Nodes and cards: what they have, where they sit, what they were. State is observed; cordoning is a person's to set."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from scheduling.models import Card, Node, NodeDomain, NodeInterval
from scheduling.selectors.moves import moves_of_pools
from scheduling.selectors.node_facts import LAST_SIGN, last_sign
from tenants.access.admin_cells import cell
from tenants.access.admin_pages import RoleAdmin, RoleInline, list_page
from tenants.permissions import Action

MOVE_HEADS = (
    pgettext_lazy("column", "node"),
    pgettext_lazy("column", "cards freed"),
    pgettext_lazy("column", "job that moves"),
    pgettext_lazy("column", "its cards"),
    pgettext_lazy("column", "to node"),
    pgettext_lazy("column", "card-hours since checkpoints"),
)


class CardInline(RoleInline):
    model = Card
    view = Action.SUPPLY_READ
    fields = readonly_fields = ("index", "flavor", "mode", "health", "failed_by", "failed_at")


class DomainInline(RoleInline):
    model = NodeDomain
    view = Action.SUPPLY_READ
    fields = readonly_fields = ("rank", "level", "domain")


class IntervalInline(RoleInline):
    model = NodeInterval
    view = Action.SUPPLY_READ
    fields = readonly_fields = ("pool", "tenant", "flavor", "cards", "cards_out", "state", "during")


@admin.register(Node)
class NodeAdmin(RoleAdmin):
    view, change = Action.SUPPLY_READ, Action.NODE_OPERATE
    addable = False
    list_display = (
        "name",
        "cluster",
        "pool",
        "flavor",
        "gpus",
        "state",
        "cordoned",
        "draining",
        "quarantined_until",
        "last_seen",
    )
    written = {"last_sign_at": "last_seen"}
    list_filter = ("state", "cordoned", "draining", "pool", "flavor")
    search_fields = ("name",)
    list_select_related = ("cluster", "pool", "flavor")
    inlines = (CardInline, DomainInline, IntervalInline)
    readonly_fields = (
        "cluster", "name", "uid", "pool", "flavor", "gpus", "cpu_m", "memory_mib", "max_pods", "state", "cordoned", "barred_by", "draining",
        "quarantined_until", "flaps", "went_at", "measured_ppm", "labels", "ready_since", "last_sign_at", "lost_at",
    )  # fmt: skip

    actions_list = ("moves",)

    @list_page(description=_("Moves that would free whole nodes"), url_path="moves", permissions=["change"])
    def moves(self, request: HttpRequest) -> HttpResponse:
        """SCH-24: shown before they are made; making them is not here."""
        title = _("Moves that would free whole nodes")
        page = {"title": title, "opts": self.opts, "heads": MOVE_HEADS, "found": moves_of_pools()}
        context = {**self.admin_site.each_context(request), **page}
        return TemplateResponse(request, "admin/scheduling/node/moves.html", context)

    last_seen = cell("stamp", pgettext_lazy("column", "last sign of life"), ordering=LAST_SIGN, at=last_sign)
