"""What cycles decided: cycles, preemptions, loans, reservations."""

from typing import Any

from django.contrib import admin
from django.db.models import F
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from berth.common.units import from_milli
from scheduling.admin.code_words import LoanEndFilter, PreemptFilter, word_and_code_cell, word_cell
from scheduling.models import Cycle, Loan, Preemption, Reservation
from tenants.access.admin_pages import RoleAdmin
from tenants.permissions import Action


@admin.register(Cycle)
class CycleAdmin(RoleAdmin):
    view = Action.CYCLE_READ
    list_display = ("id", "epoch", "at", "duration_ms", "admitted", "preempted", "waiting", "dropped", "failed")
    list_filter = ("failed",)
    exclude = ("snapshot",)


@admin.register(Preemption)
class PreemptionAdmin(RoleAdmin):
    view = Action.JOB_OPERATE_ANY
    list_display = ("job", "reason_word", "for_job", "notice_at", "grace_until", "outcome", "lost_card_s")
    list_filter = (("reason", PreemptFilter), "outcome")
    list_select_related = ("job", "for_job")
    written = {"reason": "reason_and_code"}

    reason_word = word_cell("preempt", pgettext_lazy("column", "reason"), "reason")
    reason_and_code = word_and_code_cell("preempt", pgettext_lazy("column", "reason"), "reason")


class _WithCards(RoleAdmin):
    @admin.display(description=_("cards"), ordering="amount_m")
    def cards(self, row: Loan | Reservation) -> Any:
        return None if row.amount_m is None else from_milli(row.amount_m)


@admin.register(Loan)
class LoanAdmin(_WithCards):
    """Open ones first, the newest in front."""

    view = Action.QUEUE_CHANGE
    ordering = (F("ended_at").desc(nulls_first=True), "-opened_at", "-id")
    list_display = ("id", "queue", "flavor", "cards", "opened_at", "expires_at", "renewals", "ended_at", "why_word")
    list_filter = (("ended_at", admin.EmptyFieldListFilter), ("why", LoanEndFilter), "flavor")
    list_select_related = ("queue__tenant", "flavor")
    written = {"why": "why_and_code"}

    why_word = word_cell("loan", pgettext_lazy("column", "why"), "why")
    why_and_code = word_and_code_cell("loan", pgettext_lazy("column", "why"), "why")


@admin.register(Reservation)
class ReservationAdmin(_WithCards):
    view = Action.RESERVATION_READ
    list_display = ("kind", "job", "queue", "tier", "flavor", "cards", "from_at", "to_at", "released_at")
    list_filter = ("kind",)
    list_select_related = ("job", "queue__tenant", "flavor")
