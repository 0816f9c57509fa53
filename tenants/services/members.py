"""Who belongs to a tenant, since when and as what; the past stays as it was."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.errors import ConflictError, InvalidError, NotFoundError
from berth.common.errors import FieldProblem as Wrong
from tenants.models import ApiToken, Membership, Tenant, User
from tenants.permissions import Action, require
from tenants.scoping import active_now
from tenants.services.audit import record_event


def add_member(*, by: User, tenant: Tenant, username: str, role: str) -> Membership:
    """Make an existing, active user a member. InvalidError for an unknown name, ConflictError for one who is a member already."""
    require(by, Action.MEMBER_CHANGE, tenant)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise InvalidError([Wrong("user", "unknown", _("There is no active user of this name."))])
    with transaction.atomic():
        _lock(tenant)
        if _open(tenant, user) is not None:
            raise ConflictError(_("This user is a member already."))
        made = Membership.objects.create(tenant=tenant, user=user, role=role, valid_from=clock.wall_now())
        _record(by, "member.add", made, role=role)
    return made


def change_role(*, by: User, tenant: Tenant, username: str, role: str) -> Membership:
    """End the old membership now and start one with the new role. NotFoundError for who is no member."""
    require(by, Action.MEMBER_CHANGE, tenant)
    with transaction.atomic():
        _lock(tenant)
        old = _member(tenant, username)
        if old.role == role:
            return old
        _keep_an_admin(tenant, old)
        at = _end(old)
        made = Membership.objects.create(tenant=tenant, user=old.user, role=role, valid_from=at)
        _record(by, "member.change", made, role=[old.role, role])
    return made


def remove_member(*, by: User, tenant: Tenant, username: str) -> None:
    """End the membership now: the next request of the leaver sees nothing of the tenant. Who belongs to no tenant any more, and
    has no role on the platform, loses all tokens."""
    require(by, Action.MEMBER_CHANGE, tenant)
    with transaction.atomic():
        _lock(tenant)
        old = _member(tenant, username)
        _keep_an_admin(tenant, old)
        at = _end(old)
        _record(by, "member.remove", old, role=old.role)
        belongs = Membership.objects.filter(active_now(), user=old.user).exists()
        if not belongs and not old.user.platform_roles.exists():
            ApiToken.objects.filter(user=old.user, revoked_at__isnull=True).update(revoked_at=at)


def disable_user(*, by: User, user: User) -> None:
    """No sign-in, no session, no token of theirs works from now on; memberships end, jobs and history stay."""
    require(by, Action.TENANT_CHANGE)
    at = clock.wall_now()
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(is_active=False, disabled_at=at)
        Membership.objects.filter(user=user, valid_to__isnull=True).update(valid_to=at)
        ApiToken.objects.filter(user=user, revoked_at__isnull=True).update(revoked_at=at)
        record_event(by=by, action="user.disable", on=user)


def _lock(tenant: Tenant) -> None:
    """One change of a tenant's members at a time, so that the last admin cannot leave twice."""
    Tenant.objects.select_for_update().get(pk=tenant.pk)


def _open(tenant: Tenant, user: User) -> Membership | None:
    return Membership.objects.filter(tenant=tenant, user=user, valid_to__isnull=True).first()


def _member(tenant: Tenant, username: str) -> Membership:
    found = (
        Membership.objects.filter(active_now(), tenant=tenant, user__username=username).select_related("user").first()
    )
    if found is None:
        raise NotFoundError
    return found


def _keep_an_admin(tenant: Tenant, leaving: Membership) -> None:
    if leaving.role != Membership.Role.ADMIN:
        return
    others = Membership.objects.filter(active_now(), tenant=tenant, role=Membership.Role.ADMIN).exclude(pk=leaving.pk)
    if not others.exists():
        raise ConflictError(_("This is the tenant's only admin. Make someone else admin first."))


def _end(membership: Membership) -> datetime:
    membership.valid_to = clock.wall_now()
    membership.save(update_fields=["valid_to"])
    return membership.valid_to


def _record(by: User, action: str, membership: Membership, **detail: object) -> None:
    record_event(
        by=by,
        action=action,
        on=membership,
        tenant=membership.tenant,
        detail={"user": membership.user.username, **detail},
    )
