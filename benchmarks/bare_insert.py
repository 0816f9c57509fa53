"""What `bench_submit` compares a submit with: the same server, middleware and sign-in, and one DRF view that inserts one job row.

Served by `granian benchmarks.bare_insert:application`; no rules, no roles, no transition, no ring.
"""

import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "platform"))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")

from django.conf import settings

settings.ROOT_URLCONF = "benchmarks.bare_insert"

from django.core.wsgi import get_wsgi_application  # noqa: E402

application = get_wsgi_application()

from django.urls import path  # noqa: E402
from rest_framework import serializers  # noqa: E402
from rest_framework.request import Request  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402

from berth.common import clock  # noqa: E402
from scheduling.models import Job  # noqa: E402
from tenants.models import Queue  # noqa: E402


class BareSerializer(serializers.Serializer[Any]):
    """The members of a body that one row can hold, checked as DRF checks them."""

    name = serializers.CharField(max_length=63)
    tier = serializers.ChoiceField(choices=["production", "development", "batch"], default="development")
    priority = serializers.IntegerField(min_value=0, max_value=1000, default=500)
    labels = serializers.DictField(child=serializers.CharField(), default=dict)
    max_runtime = serializers.IntegerField(required=False, min_value=1, source="max_runtime_s")


class BareView(APIView):
    """Token, serializer, INSERT, answer."""

    queue: Queue | None = None

    def post(self, request: Request) -> Response:
        body = BareSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        if BareView.queue is None:
            BareView.queue = Queue.objects.select_related("tenant").order_by("id").first()
        at = clock.now()
        job = Job.objects.create(
            tenant=BareView.queue.tenant, queue=BareView.queue, user=request.user, shape_key="bare", state="cancelled",
            submitted_at=at, order_at=at, eligible_at=at, ended_at=at, **body.validated_data,
        )  # fmt: skip
        return Response({"id": job.pk, **BareSerializer(job).data}, status=201)


urlpatterns = [path("api/v1/jobs", BareView.as_view())]
