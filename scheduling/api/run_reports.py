"""`POST /runs/{id}/report`: a run's own pods tell how far they are, by the run token in place of a person's."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from berth.common.bodies import number
from berth.common.units import from_ppm
from scheduling.api.job_schema import Body
from scheduling.services.run_reports import BadTokenError, report_run, run_of_token
from tenants.access.limits import limit_headers, take

SCHEME = "bearer"


class ReportedCheckpointSchema(Body):
    state = serializers.ChoiceField(choices=["writing", "done"])
    path = serializers.CharField(required=False, max_length=500)
    at = serializers.DateTimeField(required=False)


class ReportSchema(Body):
    progress = serializers.FloatField(required=False, min_value=0, max_value=1)
    step = serializers.IntegerField(required=False, min_value=0)
    loss = serializers.FloatField(required=False)
    wanted_size = serializers.IntegerField(required=False, min_value=1)
    checkpoint = ReportedCheckpointSchema(required=False)


class ReportedSchema(serializers.Serializer[Any]):
    job = serializers.IntegerField()
    run = serializers.IntegerField()
    state = serializers.CharField()
    progress = serializers.FloatField(allow_null=True)
    grace_until = serializers.DateTimeField(allow_null=True, help_text="Set once the run was asked to leave.")


class RunReportView(APIView):
    """The token is the run's, so no person's roles apply. All pods of a run share its limit; who has no token counts by address."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def check_throttles(self, request: Request) -> None:
        scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
        known = scheme.lower() == SCHEME and bool(token.strip())
        self.run = run_of_token(self.kwargs["run_id"], token.strip()) if known else None
        take(request, None if self.run is None else f"run:{self.run.pk}")

    # The library annotates names here and wants OpenAPI's security requirements.
    @extend_schema(
        operation_id="runs_report",
        request=ReportSchema,
        responses=ReportedSchema,
        auth=[{"token": []}],  # type: ignore[list-item]
    )
    def post(self, request: Request, run_id: int) -> Response:
        """Report progress and checkpoints. The answer says whether the run was asked to leave, and until when it may stay.

        `run_id` is the run's id or its number in the job, as `BERTH_RUN` says: `$BERTH_API/runs/$BERTH_RUN/report`.
        """
        if self.run is None:
            raise BadTokenError
        run = report_run(self.run, request.data)
        return Response(
            {
                "job": run.job_id,
                "run": run.number,
                "state": run.state,
                "progress": None if run.progress_ppm is None else number(from_ppm(run.progress_ppm)),
                "grace_until": run.grace_until,
            }
        )

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        for name, value in limit_headers(request).items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        return response
