"""`/tenants/{slug}/members`: who belongs to a tenant now."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import StrictSerializer
from tenants.access.viewset import BerthViewSet, creates
from tenants.models import Membership, Tenant, User
from tenants.permissions import Action, Role
from tenants.selectors.members import members_of
from tenants.services.members import add_member, change_role, remove_member

ROLES = {Role.TENANT_MEMBER.value: Membership.Role.MEMBER.value, Role.TENANT_ADMIN.value: Membership.Role.ADMIN.value}
"""The closed list's names to those of the table, which is about one tenant and so needs no prefix."""


class RoleField(serializers.ChoiceField):
    """`tenant-member` or `tenant-admin`, in bodies also without the prefix."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[*ROLES, *ROLES.values()], **kwargs)

    def to_internal_value(self, data: Any) -> str:
        named = str(super().to_internal_value(data))
        return ROLES.get(named, named)


class MemberSerializer(serializers.Serializer[Any]):
    user = serializers.CharField(source="user.username")
    name = serializers.SerializerMethodField()
    kind = serializers.ChoiceField(source="user.kind", choices=User.Kind.choices)
    role = serializers.SerializerMethodField()
    since = serializers.DateTimeField(source="valid_from")

    def get_name(self, row: Membership) -> str:
        return row.user.get_full_name() or row.user.username

    @extend_schema_field({"type": "string", "enum": [*ROLES]})
    def get_role(self, row: Membership) -> str:
        return next(name for name, stored in ROLES.items() if stored == row.role)


class MemberCreateSerializer(StrictSerializer):
    user = serializers.CharField(max_length=150, help_text="A username.")
    role = RoleField(default=Membership.Role.MEMBER.value)


class MemberChangeSerializer(StrictSerializer):
    role = RoleField()


class MemberViewSet(BerthViewSet):
    """People and service accounts of one tenant, and their role there."""

    required = {
        "list": Action.MEMBER_READ,
        "create": Action.MEMBER_CHANGE,
        "partial_update": Action.MEMBER_CHANGE,
        "destroy": Action.MEMBER_CHANGE,
    }
    queryset = Membership.objects.all()
    serializer_class = MemberSerializer
    lookup_field = "username"
    lookup_url_kwarg = "username"
    ordering_fields = {"user": "user__username", "role": "role", "since": "valid_from"}
    ordering = ("since",)

    def list(self, request: Request, **_path: str) -> Response:
        return self.pages(members_of(self.tenant()))

    @extend_schema(request=MemberCreateSerializer, responses={201: MemberSerializer})
    @creates()
    def create(self, request: Request, **_path: str) -> Response:
        tenant = self.tenant()
        body = self.body(MemberCreateSerializer)
        made = add_member(by=self.user, tenant=tenant, username=body["user"], role=body["role"])
        return Response(MemberSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=MemberChangeSerializer, responses=MemberSerializer)
    def partial_update(self, request: Request, username: str, **_path: str) -> Response:
        tenant = self.tenant()
        role = self.body(MemberChangeSerializer)["role"]
        return Response(MemberSerializer(change_role(by=self.user, tenant=tenant, username=username, role=role)).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, username: str, **_path: str) -> Response:
        remove_member(by=self.user, tenant=self.tenant(), username=username)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def tenant(self) -> Tenant:
        found: Tenant = self.found(Tenant.objects.visible_to(self.user), slug=self.kwargs["slug"])
        return found
