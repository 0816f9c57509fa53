"""`/jobs`: submit, preview, list, follow and operate. Each handler parses, makes one call, renders."""

from collections.abc import Callable, Iterable
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.paging import ORDERING, WholePages
from scheduling.api.job_document import event_document, job_document
from scheduling.api.job_logs import LOG_ANSWERS, LOG_PARAMETERS, LOG_QUERY, log_answer
from scheduling.api.job_parts import cost_of, pods_of, usage_of
from scheduling.api.job_query import JOB_QUERY, read_job_query
from scheduling.api.job_schema import (
    EventSchema,
    JobBodySchema,
    JobChangeSchema,
    JobCostSchema,
    JobSchema,
    JobUsageSchema,
    PodSchema,
    RunSchema,
)
from scheduling.api.preview_document import preview_document
from scheduling.api.preview_schema import PreviewSchema
from scheduling.api.run_document import run_document
from scheduling.control.preview import preview_job
from scheduling.models import Job
from scheduling.selectors.job_events import job_events
from scheduling.selectors.job_facts import NEW, facts_of, jobs_with_parts
from scheduling.selectors.run_facts import runs_of_jobs
from scheduling.services.cancel import cancel_job
from scheduling.services.change import change_job
from scheduling.services.clone import clone_job
from scheduling.services.parking import resume_job, suspend_job
from scheduling.services.submit import submit_job
from tenants.access.viewset import BerthViewSet, creates
from tenants.permissions import Action

PARTS = frozenset({"events", "runs", "pods", "usage"})
LIST_PARAMETERS = [OpenApiParameter(name, str, description=text) for name, text in JOB_QUERY.items()]


class JobViewSet(BerthViewSet):
    """Jobs of one's tenants; platform roles see all. A member operates their own jobs, the tenant's admin everybody's."""

    required = {
        "list": Action.JOB_READ,
        "retrieve": Action.JOB_READ,
        "create": Action.JOB_SUBMIT,
        "preview": Action.JOB_PREVIEW,
        "partial_update": Action.JOB_OPERATE,
        "cancel": Action.JOB_OPERATE,
        "suspend": Action.JOB_OPERATE,
        "resume": Action.JOB_OPERATE,
        "clone": Action.JOB_SUBMIT,
        "events": Action.JOB_READ,
        "runs": Action.JOB_READ,
        "pods": Action.JOB_READ,
        "logs": Action.LOG_READ,
        "cost": Action.JOB_READ,
        "usage": Action.JOB_READ,
    }
    queryset = Job.objects.none()
    serializer_class = JobSchema
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9]{1,18}"
    ordering_fields = {"id": "id", "submitted_at": "submitted_at", "priority": "priority"}
    ordering = ("-id",)
    list_actions = PARTS

    def rows(self) -> Any:
        return jobs_with_parts(Job.objects.all())

    def known_query(self) -> frozenset[str]:
        if self.action == "logs":
            return LOG_QUERY
        known = super().known_query()
        if self.action in PARTS:
            return known - {ORDERING}
        return known | frozenset(JOB_QUERY) if self.action == "list" else known

    @extend_schema(parameters=LIST_PARAMETERS, responses=JobSchema(many=True))
    def list(self, request: Request) -> Response:
        """Newest first. Filters that are given must all match."""
        jobs = self.paginate_queryset(read_job_query(request).narrow(self.get_queryset())) or []
        facts = facts_of(jobs, self.user)
        return self.get_paginated_response([job_document(job, facts[job.pk]) for job in jobs])

    @extend_schema(responses=JobSchema)
    def retrieve(self, request: Request, **_path: str) -> Response:
        return self._answer(self.get_object())

    @extend_schema(request=JobBodySchema, responses={201: JobSchema})
    @creates()
    def create(self, request: Request) -> Response:
        """Submit a job. Bad input and what could never run are a 400 with every wrong field; over quota now is accepted and waits."""
        return self._made(submit_job(self.user, request.data))

    # Any object is taken, since what is wrong with it is what a preview lists.
    @extend_schema(operation_id="jobs_preview", request=OpenApiTypes.OBJECT, responses=PreviewSchema)
    @action(detail=False, methods=["post"])
    def preview(self, request: Request) -> Response:
        """What would happen if this body, as of `POST /jobs`, were submitted now. Changes nothing."""
        return Response(preview_document(preview_job(self.user, request.data)))

    @extend_schema(request=JobChangeSchema, responses=JobSchema)
    def partial_update(self, request: Request, **_path: str) -> Response:
        """`priority` and `max_runtime` of a job that waits."""
        return self._answer(change_job(self.user, self.get_object(), request.data))

    @extend_schema(request=None, responses=JobSchema)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **_path: str) -> Response:
        """What waits ends at once; what runs gets 30 s to stop."""
        return self._answer(cancel_job(self.user, self.get_object()))

    @extend_schema(request=None, responses=JobSchema)
    @action(detail=True, methods=["post"])
    def suspend(self, request: Request, **_path: str) -> Response:
        """Queued → suspended; 409 once it runs."""
        return self._answer(suspend_job(self.user, self.get_object()))

    @extend_schema(request=None, responses=JobSchema)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, **_path: str) -> Response:
        """Suspended → queued, at its old place."""
        return self._answer(resume_job(self.user, self.get_object()))

    @extend_schema(request=None, responses={201: JobSchema})
    @action(detail=True, methods=["post"])
    @creates()
    def clone(self, request: Request, **_path: str) -> Response:
        """Submit the same body again."""
        return self._made(clone_job(self.user, self.get_object()))

    @extend_schema(operation_id="jobs_events", responses=EventSchema(many=True))
    @action(detail=True, methods=["get"], pagination_class=WholePages)
    def events(self, request: Request, **_path: str) -> Response:
        """Everything that happened, oldest first."""
        return self._page(job_events(self.get_object()), event_document)

    @extend_schema(operation_id="jobs_runs", responses=RunSchema(many=True))
    @action(detail=True, methods=["get"], pagination_class=WholePages)
    def runs(self, request: Request, **_path: str) -> Response:
        """Attempts, oldest first."""
        job = self.get_object()
        return self._page(runs_of_jobs([job.pk]).get(job.pk, ()), run_document)

    @extend_schema(operation_id="jobs_pods", responses=PodSchema(many=True))
    @action(detail=True, methods=["get"], pagination_class=WholePages)
    def pods(self, request: Request, **_path: str) -> Response:
        """Pods of all runs, by run and rank."""
        return self._page(pods_of(self.get_object()))

    @extend_schema(operation_id="jobs_logs", parameters=LOG_PARAMETERS, responses=LOG_ANSWERS)
    @action(detail=True, methods=["get"])
    def logs(self, request: Request, **_path: str) -> HttpResponseBase:
        """What one pod wrote, while it runs and after it is gone. Rank, role and node stand beside it; the newest lines last."""
        return log_answer(request, self.get_object())

    @extend_schema(operation_id="jobs_cost", responses=JobCostSchema)
    @action(detail=True, methods=["get"])
    def cost(self, request: Request, **_path: str) -> Response:
        """What it cost so far, what it may cost, what is not charged and why."""
        return Response(cost_of(self.get_object()))

    @extend_schema(operation_id="jobs_usage", responses=JobUsageSchema(many=True))
    @action(detail=True, methods=["get"], pagination_class=WholePages)
    def usage(self, request: Request, **_path: str) -> Response:
        """Card-seconds by run and flavor, and how busy the cards were."""
        return self._page(usage_of(self.get_object()))

    def _page(self, rows: Iterable[Any], document: Callable[[Any], Any] = lambda row: row) -> Response:
        return self.get_paginated_response([document(row) for row in self.paginate_queryset(tuple(rows)) or ()])

    def _answer(self, job: Job) -> Response:
        return Response(job_document(job, facts_of([job], self.user)[job.pk]))

    def _made(self, job: Job) -> Response:
        return Response(job_document(job, NEW), status=status.HTTP_201_CREATED)
