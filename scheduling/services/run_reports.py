"""What the pods of a run report with its token: progress, wanted size, checkpoints (DESIGN section 7)."""

import hashlib
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.errors import BerthError, ConflictError, Problems
from berth.common.units import to_ppm
from scheduling.models import Role, Run
from scheduling.services.job_body.reader import BodyReader
from scheduling.services.job_body.role import MOST_REPLICAS
from scheduling.states import RunState

CHECKPOINT_STATES: Final = ("writing", "done")
PROGRESS_RULE: Final = _("Must be a number from 0 to 1 with at most 6 decimals.")
MOST_STEPS: Final = 2**63 - 1
MOST_RUN_NUMBER: Final = 2**31 - 1
LOSS_LIMIT: Final = Decimal("1e300")


class BadTokenError(BerthError):
    code = "unauthenticated"
    status = 401
    message = _("This token is not the run's.")


class RunEndedError(ConflictError):
    code = "run-ended"
    message = _("The run has ended; what it reports changes nothing.")


def token_digest(token: str) -> str:
    """What is stored of a run's token."""
    return hashlib.sha256(token.encode()).hexdigest()


def run_of_token(run_id: int, token: str) -> Run | None:
    """The run that this token is of, if `run_id` names it: by its id, or by its number in the job, as `BERTH_RUN` does. None for
    another run's token, an unknown one, and a run that does not exist: no hint which."""
    named = Q(pk=run_id) | Q(number=run_id) if run_id <= MOST_RUN_NUMBER else Q(pk=run_id)
    rows = Run.objects.filter(named, token_digest=token_digest(token)).exclude(token_digest="")
    return rows.order_by("pk").first()


def report_run(run: Run, body: Any) -> Run:
    """Store what the run's own pods report. RunEndedError once it has ended or was fenced, InvalidError with every wrong field."""
    if run.state == RunState.ENDED or run.fenced:
        raise RunEndedError
    changes = _read(body, clock.now(), partial(_sizes, run))
    with transaction.atomic():
        if not Run.objects.filter(pk=run.pk, ended_at__isnull=True).update(**changes):
            raise RunEndedError
    run.refresh_from_db()
    return run


def _sizes(run: Run) -> tuple[int, int] | None:
    """The range of the role that may be resized (SCH-10); None for a job of one size, whose wish is kept and moves nothing."""
    elastic = Role.objects.filter(job_id=run.job_id, in_gang=True, minimum__lt=F("replicas")).order_by("position")
    return elastic.values_list("minimum", "replicas").first()


def _wanted_size(fields: BodyReader, sizes: Callable[[], tuple[int, int] | None]) -> int | None:
    wanted = fields.integer("wanted_size", 1, MOST_REPLICAS)
    allowed = None if wanted is None else sizes()
    if wanted is None or allowed is None or allowed[0] <= wanted <= allowed[1]:
        return wanted
    text = _("Must be from %(least)d to %(most)d, the sizes that the job may have.")
    fields.problem("wanted_size", text % {"least": allowed[0], "most": allowed[1]}, code="range")
    return None


def _read(body: Any, now: datetime, sizes: Callable[[], tuple[int, int] | None]) -> dict[str, Any]:
    problems = Problems()
    fields = BodyReader(body, problems)
    checkpoint = fields.below("checkpoint")
    given: dict[str, Any] = {
        "progress_ppm": fields.amount("progress", lambda value: to_ppm(round(value, 6)), 1, PROGRESS_RULE),
        "step": fields.integer("step", 0, MOST_STEPS),
        "loss": _loss(fields),
        "wanted_size": _wanted_size(fields, sizes),
        "checkpoint_state": checkpoint.choice("state", CHECKPOINT_STATES),
        "checkpoint_path": checkpoint.text("path", longest=500) or None,
        "checkpoint_at": checkpoint.instant("at"),
    }
    if fields.has("checkpoint") and not checkpoint.has("state"):
        checkpoint.problem("state", _("Choose one of: %s.") % ", ".join(CHECKPOINT_STATES), code="required")
    checkpoint.close()
    fields.close()
    problems.raise_if_any()
    if given["checkpoint_state"] == "done":
        given["checkpoint_at"] = min(given["checkpoint_at"] or now, now)
        # Without a path it is the run's own folder that was written.
        given["checkpoint_path"] = given["checkpoint_path"] or ""
    else:
        # What is half written is nothing to resume from: place and time stay those of the last whole one.
        given["checkpoint_path"] = given["checkpoint_at"] = None
    return {"reported_at": now, **{name: value for name, value in given.items() if value is not None}}


def _loss(fields: BodyReader) -> float | None:
    value = fields.raw("loss")
    if value is None:
        return None
    number = Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or not number.is_finite() or not -LOSS_LIMIT <= number <= LOSS_LIMIT:
        fields.problem("loss", _("Must be a number."), code="type")
        return None
    return float(number)
