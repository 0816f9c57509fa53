"""What submit and preview judge alike: a body, its words and ranges, the rows it names, and whether it could ever run. Writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from berth.common.errors import FieldProblem, ForbiddenError, InvalidError, NotFoundError, Problems
from scheduling.models import Job
from scheduling.selectors.configured import Configured, configured
from scheduling.services.job_body import JobAsk, read_job
from scheduling.services.possible import note_impossible
from scheduling.services.resolved import ResolvedJob, resolve_job
from scheduling.states import TERMINAL, JobState
from tenants.models import Project, Queue, Secret, Tenant, User
from tenants.permissions import Action, can, require, roles_of

URGENT_FROM: Final = 900
FORBIDDEN: Final = "forbidden"
BOUNDARY: Final = ("/", ":", "@")


@dataclass(frozen=True, slots=True)
class Judged:
    """`job` is None where the body is too wrong to say what it asks for; it may be submitted only without problems."""

    job: ResolvedJob | None
    project_id: int | None
    problems: tuple[FieldProblem, ...]
    config: Configured

    def raise_if_refused(self) -> ResolvedJob:
        """The job. Raises ForbiddenError if a role is too low and nothing else is wrong, InvalidError with all problems else."""
        if self.problems:
            if all(problem.code == FORBIDDEN for problem in self.problems):
                raise ForbiddenError(self.problems[0].message)
            raise InvalidError(self.problems)
        if self.job is None:
            raise RuntimeError("a body without a problem has a job")
        return self.job


def judge(user: User, body: Any, action: Action) -> Judged:
    """Judge `body` for `user`. Raises NotFoundError for a tenant they do not see, ForbiddenError for a role too low there."""
    problems = Problems()
    ask = read_job(body, problems)
    config = configured()
    queue = _queue(user, ask, config, problems)
    if queue is None:
        return Judged(None, None, tuple(problems.found), config)
    require(user, action, queue.tenant)
    _check_standing(user, ask, queue, problems)
    project_id = _check_named_rows(ask, queue, problems)
    job, found = _against(ask, queue, config, may_judge_fit=_asks_are_right(problems))
    if found.found:
        # Never refuse because of a kept copy.
        config = configured(fresh=True)
        job, found = _against(ask, queue, config, may_judge_fit=_asks_are_right(problems))
    return Judged(job, project_id, (*problems.found, *found.found), config)


def _against(ask: JobAsk, queue: Queue, config: Configured, *, may_judge_fit: bool) -> tuple[ResolvedJob, Problems]:
    problems = Problems()
    job = resolve_job(ask, queue, config, problems)
    for number, role in enumerate(ask.roles):
        if role.image and not _allowed(role.image, config.images):
            problems.add(
                f"roles[{number}].image",
                _("Images must come from: %s.") % ", ".join(config.images),
                code="image-not-allowed",
            )
    if may_judge_fit and _asks_are_right(problems):
        note_impossible(job, config, problems)
    return job, problems


def _asks_are_right(problems: Problems) -> bool:
    """Whether what decides about fitting was read without a problem; else more would only be said about wrong values."""
    return not any(problem.field.startswith(("roles", "topology", "body")) for problem in problems.found)


def _allowed(image: str, rules: tuple[str, ...]) -> bool:
    """A rule matches at a boundary of the reference, so that `registry.example` does not allow `registry.example.evil.org/x`."""
    return not rules or any(
        image == rule or (image.startswith(rule) and (rule.endswith(BOUNDARY) or image[len(rule)] in BOUNDARY))
        for rule in rules
    )


def _queue(user: User, ask: JobAsk, config: Configured, problems: Problems) -> Queue | None:
    """The visible queue. A tenant that is not visible is not found; beside other problems it is one of them."""
    found = config.queues.get((ask.tenant, ask.queue))
    if found is not None and roles_of(user, found.tenant):
        return found
    if not ask.tenant or not ask.queue:
        return None
    if Tenant.objects.visible_to(user).filter(slug=ask.tenant).exists():
        known = Queue.objects.visible_to(user).filter(tenant__slug=ask.tenant).order_by("name")
        names = ", ".join(known.values_list("name", flat=True)) or "-"
        problems.add("queue", _("Unknown; the tenant has: %s.") % names, code="unknown")
        return None
    if not problems.found:
        raise NotFoundError
    problems.add("tenant", NotFoundError.message, code="unknown")
    return None


def _check_standing(user: User, ask: JobAsk, queue: Queue, problems: Problems) -> None:
    if ask.priority >= URGENT_FROM and not can(user, Action.JOB_URGENT, queue.tenant):
        problems.add("priority", _("From %d on it needs the tenant admin's role.") % URGENT_FROM, code=FORBIDDEN)
    if queue.tenant.state in {Tenant.State.CLOSING, Tenant.State.CLOSED}:
        problems.add("tenant", _("The tenant is closing and takes no new jobs."), code="closed")
    if queue.state != Queue.State.OPEN:
        problems.add("queue", _("The queue is closed or draining and takes no new jobs."), code="closed")


def _check_named_rows(ask: JobAsk, queue: Queue, problems: Problems) -> int | None:
    """Everything a body names must be the tenant's own (W03, W16). Returns the project's id."""
    _check_secrets(ask, queue, problems)
    _check_after(ask, queue, problems)
    if not ask.project:
        return None
    project = Project.objects.filter(tenant=queue.tenant, slug=ask.project).values_list("pk", flat=True).first()
    if project is None:
        problems.add("project", _("The tenant has no such project."), code="unknown")
    return project


def _check_secrets(ask: JobAsk, queue: Queue, problems: Problems) -> None:
    wanted = {name for role in ask.roles for name in (*role.env_from, *role.image_pull)}
    if not wanted:
        return
    rows = Secret.objects.filter(tenant=queue.tenant, environment=queue.environment, name__in=wanted)
    kinds: Mapping[str, str] = dict(rows.values_list("name", "kind"))
    for number, role in enumerate(ask.roles):
        for field, names, kind in (
            ("env_from", role.env_from, Secret.Kind.ENV),
            ("image_pull", role.image_pull, Secret.Kind.IMAGE_PULL),
        ):
            for position, name in enumerate(names):
                if kinds.get(name) != kind:
                    problems.add(
                        f"roles[{number}].{field}[{position}]",
                        _("The tenant has no such secret in environment %s.") % queue.environment,
                        code="unknown",
                    )


def _check_after(ask: JobAsk, queue: Queue, problems: Problems) -> None:
    if not ask.after:
        return
    wanted = [after.job for after in ask.after]
    states = dict(Job.objects.filter(pk__in=wanted, tenant=queue.tenant).values_list("pk", "state"))
    for number, after in enumerate(ask.after):
        state = states.get(after.job)
        if state is None:
            problems.add(f"after[{number}].job", _("The tenant has no such job."), code="unknown")
        elif after.on == "success" and JobState(state) in TERMINAL - {JobState.SUCCEEDED}:
            problems.add(f"after[{number}].job", _("It has already ended without success."), code="conflict")
