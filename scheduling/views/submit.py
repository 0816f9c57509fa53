"""The submit page: form and YAML are two faces of one body, and the preview beside them is what REST answers for that body."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from berth.common.bodies import MAX_AMOUNT
from berth.common.errors import FieldProblem, ForbiddenError, InvalidError, NotFoundError
from scheduling.control.preview import preview_job
from scheduling.models import Job
from scheduling.selectors.freshness import current_freshness
from scheduling.selectors.job_page import visible_job
from scheduling.selectors.submit_choices import last_queue_of, submit_choices
from scheduling.services.clone import body_of
from scheduling.services.job_body import body_from_yaml, body_to_yaml
from scheduling.services.submit import submit_job
from scheduling.views.job_form import Body, anchor_of, body_of_form, empty_body, fields_of, label_of
from scheduling.views.preview_face import face_of
from tenants.access.page_request import PageRequest

FORM, YAML = "form", "yaml"
NAMES = ("name", "image")
STAND_IN = "preview"
"""What a preview takes for a name or image that is still to be typed."""
LONGEST_ID = 18
"""Digits of any job's number that the database can hold."""


@dataclass(frozen=True, slots=True)
class ShownProblem:
    """A wrong field with its label and the id of where to fix it."""

    anchor: str
    label: Any
    message: Any


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: PageRequest) -> HttpResponse:
    """GET opens an empty or cloned form; POST submits it, or (`face`) shows the same body with its other face."""
    if request.method != "POST":
        return _page(request, _opened_with(request), face=request.GET.get("face", FORM))
    cloned = _cloned(request, request.POST.get("clone", ""))
    try:
        body = _body(request)
    except InvalidError as error:
        return _unreadable(request, error)
    if "face" in request.POST:
        return _page(request, body, face=request.POST["face"])
    try:
        job = submit_job(request.user, body, cloned_from=cloned)
    except InvalidError as error:
        return _page(request, body, face=request.POST.get("shown", FORM), problems=error.problems)
    except (ForbiddenError, NotFoundError) as error:
        refusal = FieldProblem("queue", error.code, str(error))
        return _page(request, body, face=request.POST.get("shown", FORM), problems=(refusal,))
    messages.success(request, _("Submitted. The next cycle looks at it, within seconds."))
    return redirect("job", job_id=job.pk)


@login_required
@require_POST
def preview(request: PageRequest) -> HttpResponse:
    """The preview of the form as it stands; changes nothing. What is wrong is part of the answer, not an error."""

    context: dict[str, Any] = {"freshness": current_freshness()}
    try:
        body = _body(request)
        answer = preview_job(request.user, body)
        told = preview_job(request.user, _named(body)) if _lacks_names_only(answer.problems) else answer
        context |= {"preview": face_of(told), "cards": _cards(body), "problems": _shown(answer.problems)}
    except InvalidError as error:
        context["problems"] = _shown(error.problems)
    except (ForbiddenError, NotFoundError) as error:
        context["problems"] = _shown((FieldProblem("queue", error.code, str(error)),))
    return render(request, "scheduling/preview.html", context)


def _lacks_names_only(problems: Sequence[FieldProblem]) -> bool:
    """Whether nothing is missing but what decides neither start nor price."""
    lacking = [problem.code == "required" and problem.field.rpartition(".")[2] in NAMES for problem in problems]
    return bool(lacking) and all(lacking)


def _named(body: Body) -> Body:
    """The body with a stand-in for each name that is still to be given."""
    given = body.get("roles")
    roles = [{**role, "image": role.get("image") or STAND_IN} for role in given] if isinstance(given, list) else given
    return {**body, "name": body.get("name") or STAND_IN, "roles": roles}


def _page(request: PageRequest, body: Body, *, face: str, text: str | None = None, problems: Any = ()) -> HttpResponse:
    shown = _shown(problems)
    fields = fields_of(body)
    context = {
        "freshness": current_freshness(),
        "face": YAML if face == YAML else FORM,
        "fields": fields,
        "rest": json.dumps(body),
        "yaml": body_to_yaml(body) if text is None else text,
        "more_roles": max(0, len(body.get("roles") or []) - 1) if isinstance(body.get("roles"), list) else 0,
        "choices": submit_choices(request.user),
        "clone": request.POST.get("clone") or request.GET.get("clone", ""),
        "problems": shown,
        "problem_at": {problem.anchor: problem.message for problem in reversed(shown)},
        "folded_open": any(problem.anchor.startswith("field-") and fields for problem in shown),
    }
    return render(request, "scheduling/submit.html", context)


def _opened_with(request: PageRequest) -> Body:
    """A clone's body, or an empty one for the queue that the person used last, else the first, of the chosen tenant."""
    cloned = _cloned(request, request.GET.get("clone", ""))
    if cloned is not None:
        return body_of(cloned)
    tenant = request.tenant or None
    choices = submit_choices(request.user).queues
    mine = [choice for choice in choices if tenant is None or choice.tenant == tenant.slug] or list(choices)
    body = empty_body()
    if not mine:
        return body
    last = last_queue_of(request.user)
    chosen = next((choice for choice in mine if (choice.tenant, choice.name) == last), mine[0])
    return {"tenant": chosen.tenant, "queue": chosen.name, **body}


def _cloned(request: PageRequest, source: str) -> Job | None:
    """The job that is cloned, None for none. Raises NotFoundError for what is no job's number."""
    if not source:
        return None
    if not (source.isascii() and source.isdecimal() and len(source) <= LONGEST_ID):
        raise NotFoundError
    return visible_job(request.user, int(source))


def _unreadable(request: PageRequest, error: InvalidError) -> HttpResponse:
    """The page with what was typed and why it cannot be read; what the form did not show is lost, and the page says so."""
    if request.POST.get("shown") == YAML:
        return _page(request, {}, face=YAML, text=request.POST.get("yaml", ""), problems=error.problems)
    typed = request.POST.copy()
    typed.pop("rest", None)
    return _page(request, body_of_form(typed), face=FORM, problems=error.problems)


def _body(request: PageRequest) -> Body:
    """Raises InvalidError for YAML that is none, and for a form whose hidden part cannot be read."""
    if request.POST.get("shown") == YAML:
        body = body_from_yaml(request.POST.get("yaml", ""))
        return body if isinstance(body, dict) else {}
    return body_of_form(request.POST)


def _shown(problems: Any) -> list[ShownProblem]:
    return [ShownProblem(anchor_of(problem.field), label_of(problem.field), problem.message) for problem in problems]


def _cards(body: Body) -> int | float | None:
    """Cards of all pods together, for the button's words; None where the body does not say so in numbers."""
    try:
        parts = [(role["replicas"], (role.get("resources") or {}).get("gpu", 0)) for role in body["roles"]]
    except (KeyError, TypeError, AttributeError):
        return None
    if not all(_is_count(value) for part in parts for value in part):
        return None
    return sum(replicas * cards for replicas, cards in parts)


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_AMOUNT
