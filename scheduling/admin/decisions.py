"""What cycles decided: cycles, preemptions, loans, reservations."""

from django.contrib import admin

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
    list_display = ("job", "reason", "for_job", "notice_at", "grace_until", "outcome", "lost_card_s")
    list_filter = ("reason", "outcome")
    list_select_related = ("job", "for_job")


@admin.register(Loan)
class LoanAdmin(RoleAdmin):
    view = Action.QUEUE_CHANGE
    list_display = ("id", "queue", "flavor", "amount_m", "opened_at", "expires_at", "renewals", "ended_at", "why")
    list_filter = ("why", "flavor")
    list_select_related = ("queue", "flavor")


@admin.register(Reservation)
class ReservationAdmin(RoleAdmin):
    view = Action.RESERVATION_READ
    list_display = ("kind", "job", "queue", "tier", "flavor", "amount_m", "from_at", "to_at", "released_at")
    list_filter = ("kind",)
    list_select_related = ("job", "queue", "flavor")
