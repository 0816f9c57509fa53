"""`GET /tenants/{slug}/kubeconfig`: reads pods and logs of the tenant's own namespaces, and nothing else."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling.control.member_access import kubeconfig_of
from tenants.access.viewset import BerthViewSet
from tenants.models import Tenant
from tenants.permissions import Action


class NamedSchema(serializers.Serializer[Any]):
    name = serializers.CharField()


class KubeconfigSchema(serializers.Serializer[Any]):
    """A kubeconfig file as `kubectl` reads it. JSON is YAML: it is saved as it comes."""

    apiVersion = serializers.CharField()  # noqa: N815 - Kubernetes' own names
    kind = serializers.CharField()
    clusters = NamedSchema(many=True)
    users = NamedSchema(many=True)
    contexts = NamedSchema(many=True)

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "current-context": serializers.CharField()}


class YamlRenderer(JSONRenderer):
    """For clients that ask for YAML, which JSON is."""

    media_type = "application/yaml"
    format = "yaml"


class KubeconfigViewSet(BerthViewSet):
    """For members and tenant admins; whoever may read a tenant's logs."""

    required = {"retrieve": Action.LOG_READ}
    queryset = Tenant.objects.all()
    lookup_field = "slug"
    renderer_classes = (*BerthViewSet.renderer_classes, YamlRenderer)

    @extend_schema(operation_id="tenants_kubeconfig", responses=KubeconfigSchema)
    def retrieve(self, request: Request, **_path: str) -> Response:
        """The token ends after an hour; ask again then."""
        tenant = self.get_object()
        response = Response(kubeconfig_of(by=self.user, tenant=tenant))
        response.headers["Content-Disposition"] = f'attachment; filename="{tenant.slug}.kubeconfig"'
        return response
