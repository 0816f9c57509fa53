"""People, their platform roles and API tokens (digests only)."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from tenants.access.admin_pages import RoleAdmin, RoleInline
from tenants.models import ApiToken, Membership, PlatformRole, User
from tenants.permissions import Action

admin.site.unregister(Group)


class PlatformRoleInline(RoleInline):
    model = PlatformRole
    view, change = Action.TENANT_CREATE, Action.TENANT_CREATE

    def has_delete_permission(self, request, obj=None) -> bool:  # type: ignore[no-untyped-def]
        """A platform role is taken away by removing its row; the trail keeps who had it."""
        return self.has_change_permission(request, obj)


class MembershipInline(RoleInline):
    model = Membership
    view = Action.MEMBER_READ
    fk_name = "user"
    fields = readonly_fields = ("tenant", "role", "valid_from", "valid_to")


@admin.register(User)
class PersonAdmin(RoleAdmin, UserAdmin):
    """Passwords are set here only for service users and first sign-ins; people change their own."""

    view, change = Action.TENANT_CREATE, Action.TENANT_CREATE
    form, add_form, change_password_form = UserChangeForm, UserCreationForm, AdminPasswordChangeForm
    list_display = ("username", "kind", "language", "is_active", "last_login")
    list_filter = ("kind", "is_active", "platform_roles__role")
    search_fields = ("username", "email")
    inlines = (PlatformRoleInline, MembershipInline)
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password", "kind")}),
        (_("Person"), {"fields": ("first_name", "last_name", "email", "language", "time_zone")}),
        (_("Access"), {"fields": ("is_active", "is_staff", "disabled_at", "last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined", "disabled_at")


@admin.register(ApiToken)
class ApiTokenAdmin(RoleAdmin):
    """What tokens exist and when each was last used; making and revoking one is its owner's, by page or API."""

    view = Action.TENANT_CREATE
    list_display = ("name", "user", "scopes", "created", "expiry", "last_used_at", "revoked_at")
    search_fields = ("name", "user__username")
    list_select_related = ("user",)
    exclude = ("digest", "token_key")
