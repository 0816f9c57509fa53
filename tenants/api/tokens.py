"""`/tokens`: one's own API tokens."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import InstantField, StrictSerializer
from tenants.access.viewset import BerthViewSet, creates
from tenants.models import ApiToken
from tenants.permissions import Action, Scope
from tenants.selectors.tokens import tokens_of
from tenants.services.tokens import create_token, revoke_token

SCOPES = [scope.value for scope in Scope]


class TokenSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES))
    expires = serializers.DateTimeField(source="expiry", allow_null=True)
    prefix = serializers.CharField(source="token_key", help_text="How the token begins, to tell it from others.")
    created = serializers.DateTimeField()
    last_used = serializers.DateTimeField(source="last_used_at", allow_null=True)


class NewTokenSerializer(TokenSerializer):
    secret = serializers.CharField(
        allow_null=True, help_text="The token itself, shown this once. A replay by Idempotency-Key has null here."
    )


class TokenCreateSerializer(StrictSerializer):
    name = serializers.CharField(max_length=80)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=SCOPES),
        required=False,
        min_length=1,
        max_length=len(SCOPES),
        help_text="Left out: all that your roles can use.",
    )
    expires = InstantField(required=False, allow_null=True, default=None)


class TokenViewSet(BerthViewSet):
    """Tokens are their user's own: nobody else lists or revokes them. A revoked or expired one is gone from here."""

    required = {
        "list": Action.TOKEN_READ,
        "retrieve": Action.TOKEN_READ,
        "create": Action.TOKEN_CHANGE,
        "destroy": Action.TOKEN_CHANGE,
    }
    serializer_class = TokenSerializer
    queryset = ApiToken.objects.none()
    lookup_value_regex = "[0-9]{1,18}"
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    ordering_fields = {"id": "id", "name": "name", "created": "created"}
    ordering = ("-id",)

    def get_queryset(self) -> QuerySet[ApiToken]:
        return tokens_of(self.user)

    def list(self, request: Request) -> Response:
        return self.pages()

    def retrieve(self, request: Request, **_path: str) -> Response:
        return Response(TokenSerializer(self.get_object()).data)

    @extend_schema(request=TokenCreateSerializer, responses={201: NewTokenSerializer})
    @creates(secret=("secret",))
    def create(self, request: Request) -> Response:
        token, secret = create_token(by=self.user, **self.body(TokenCreateSerializer))
        body = {**TokenSerializer(token).data, "secret": secret}
        return Response(body, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, **_path: str) -> Response:
        revoke_token(by=self.user, token=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
