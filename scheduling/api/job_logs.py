"""`GET /jobs/{id}/logs`: which pod's output is asked for, and how it is answered: as a document or as the text alone."""

from typing import Any, Final

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from drf_canon.errors import QueryParamError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling.api.job_schema import Fields
from scheduling.control.job_logs import WHY_NONE, JobLog, LogState, read_job_log
from scheduling.models import Job
from scheduling.selectors.job_logs import choose_log

DEFAULT_TAIL: Final = 1_000
MOST_TAIL: Final = 50_000
MOST_NUMBER: Final = 2**31 - 1
FORMATS: Final = ("json", "text")
LOG_QUERY: Final = frozenset({"run", "rank", "pod", "tail", "format"})
LOG_PARAMETERS: Final = [
    OpenApiParameter("run", int, description="The run's number in the job; the newest unless given."),
    OpenApiParameter("rank", int, description="The first that failed, else 0, unless given."),
    OpenApiParameter("pod", str, description="The pod's name, for pods outside the gang too."),
    OpenApiParameter("tail", int, description=f"The last lines, 1 to {MOST_TAIL}; {DEFAULT_TAIL} unless given."),
    OpenApiParameter("format", str, enum=FORMATS, description="`text`: the output alone, as a file."),
]


class LogSchema(Fields):
    job = serializers.IntegerField()
    run = serializers.IntegerField(allow_null=True)
    rank = serializers.IntegerField(allow_null=True, help_text="Null for pods outside the gang.")
    role = serializers.CharField(allow_null=True)
    pod = serializers.CharField(allow_null=True)
    node = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(
        choices=[each.value for each in LogState],
        help_text="`live`: read from the cluster just now. `kept`: a copy. `none`: `why` says why not.",
    )
    why = serializers.ChoiceField(choices=[*WHY_NONE], allow_null=True)
    message = serializers.CharField(help_text="Why there is none, for people; empty where there is one.")
    cluster_message = serializers.CharField(help_text="The cluster's own words on why there is none.")
    whole = serializers.BooleanField(help_text="Nothing can follow: it was read after the pod's last line.")
    cut = serializers.BooleanField(help_text="Older lines are left out, by `tail` or by the cap of a kept log.")
    as_of = serializers.DateTimeField(allow_null=True)
    text = serializers.CharField()


LOG_ANSWERS: Final = {(200, "application/json"): LogSchema, (200, "text/plain"): OpenApiTypes.STR}


def log_answer(request: Request, job: Job) -> HttpResponseBase:
    """The output of one pod of `job`. A 400 names every query value that is wrong; an unknown run, rank or pod is a 404."""
    wanted = _read_query(request)
    choice = choose_log(job, run=wanted["run"], rank=wanted["rank"], pod=wanted["pod"])
    log = read_job_log(choice, tail=wanted["tail"] or DEFAULT_TAIL)
    if wanted["format"] == "text":
        return _text(log, job)
    return Response(_document(job, log))


def _text(log: JobLog, job: Job) -> HttpResponse:
    """As a download named after its pod; where there is no output, the word on that."""
    name = log.choice.pod.name if log.choice.pod else f"j{job.pk}"
    body = f"# {log.sentence}\n" if log.why else log.text
    answer = HttpResponse(body, content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.log"'
    answer["Cache-Control"] = "no-store"
    return answer


def _document(job: Job, log: JobLog) -> dict[str, Any]:
    run, pod = log.choice.run, log.choice.pod
    return {
        "job": job.pk,
        "run": run.number if run else None,
        "rank": pod.rank if pod and pod.in_gang else None,
        "role": pod.role_name if pod else None,
        "pod": pod.name if pod else None,
        "node": pod.node.name if pod else None,
        "state": log.state,
        "why": log.why or None,
        "message": log.sentence,
        "cluster_message": log.message,
        "whole": log.whole,
        "cut": log.cut,
        "as_of": log.as_of,
        "text": log.text,
    }


def _read_query(request: Request) -> dict[str, Any]:
    wrong: dict[str, str] = {}
    given = request.query_params
    found: dict[str, Any] = {
        "run": _number(given.get("run"), 1, MOST_NUMBER, "run", wrong),
        "rank": _number(given.get("rank"), 0, MOST_NUMBER, "rank", wrong),
        "tail": _number(given.get("tail"), 1, MOST_TAIL, "tail", wrong),
        "pod": given.get("pod", ""),
        "format": given.get("format", FORMATS[0]),
    }
    if found["format"] not in FORMATS:
        wrong["format"] = _("Choose from: %s.") % ", ".join(FORMATS)
    if wrong:
        raise QueryParamError(wrong)
    return found


def _number(text: str | None, least: int, most: int, name: str, wrong: dict[str, str]) -> int | None:
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most:
        return int(text)
    wrong[name] = _("Must be a whole number from %(low)d to %(high)d.") % {"low": least, "high": most}
    return None
