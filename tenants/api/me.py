"""`GET /me`: who the request comes from and what they may do."""

from typing import Any

from django.utils.translation import get_language
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.access.viewset import BerthViewSet
from tenants.models import User
from tenants.permissions import Action, Role, Scope, belongings, full_scopes, roles_of


class MyTenantSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=[Role.TENANT_ADMIN.value, Role.TENANT_MEMBER.value])


class MeSerializer(serializers.Serializer[Any]):
    user = serializers.CharField(help_text="The username.")
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=User.Kind.choices)
    language = serializers.CharField()
    time_zone = serializers.CharField()
    roles = serializers.ListField(child=serializers.ChoiceField(choices=[role.value for role in Role]))
    tenants = MyTenantSerializer(many=True)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=[scope.value for scope in Scope]))


class MeViewSet(BerthViewSet):
    """The token's scopes; by session, all that the user's roles can use."""

    required = {"list": Action.ME_READ}
    pagination_class = None
    queryset = User.objects.none()
    serializer_class = MeSerializer

    @extend_schema(operation_id="me", responses=MeSerializer)
    def list(self, request: Request) -> Response:
        user = self.user
        granted = getattr(user, "token_scopes", None)
        scopes = [scope.value for scope in full_scopes(user)] if granted is None else sorted(granted)
        return Response(
            {
                "user": user.username,
                "name": user.get_full_name() or user.username,
                "kind": user.kind,
                "language": user.language or get_language(),
                "time_zone": user.time_zone,
                "roles": sorted(roles_of(user)),
                "tenants": [
                    {"slug": held.slug, "name": held.name, "role": held.role.value} for held in belongings(user)
                ],
                "scopes": scopes,
            }
        )
