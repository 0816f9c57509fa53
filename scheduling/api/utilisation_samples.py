"""`POST /utilisation-samples`: an exporter tells how busy cards are (docs/utilisation.md)."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import GibField, InstantField, RatioField, StrictSerializer
from scheduling.models import Card
from scheduling.services.card_readings import CardReading, submit_readings
from tenants.access.viewset import BerthViewSet
from tenants.permissions import Action

MOST_SAMPLES = 5_000
MOST_INDEX = 4_095


class SampleSerializer(StrictSerializer):
    cluster = serializers.CharField(max_length=63)
    node = serializers.CharField(max_length=253)
    card = serializers.IntegerField(min_value=0, max_value=MOST_INDEX, help_text="Index on its node.")
    at = InstantField(help_text="One sample a card and minute counts: the first.")
    utilisation = RatioField(source="busy_ppm", most=1)
    vram = GibField(source="vram_mib", required=False, allow_null=True, help_text="GiB in use.")


class SamplesSerializer(StrictSerializer):
    samples = serializers.ListField(child=SampleSerializer(), min_length=1, max_length=MOST_SAMPLES)


class TakenSchema(serializers.Serializer[Any]):
    stored = serializers.IntegerField()
    repeated = serializers.IntegerField(help_text="The card had a sample of that minute.")
    not_held = serializers.IntegerField(help_text="No run held the card then.")


class UtilisationSampleViewSet(BerthViewSet):
    """Platform admins, and tokens of theirs with the scope `admin`."""

    required = {"create": Action.SAMPLE_WRITE}
    queryset = Card.objects.none()

    @extend_schema(request=SamplesSerializer, responses={200: TakenSchema})
    def create(self, request: Request) -> Response:
        """All or none: a wrong sample is told by its place, and nothing is stored. Safe to repeat."""
        readings = [CardReading(**sample) for sample in self.body(SamplesSerializer)["samples"]]
        return Response(TakenSchema(submit_readings(by=self.user, readings=readings)).data)
