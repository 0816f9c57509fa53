"""A whole body -> `JobAsk`, every wrong field noted at once (docs/api-jobs.md)."""

import re
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from berth.common.errors import Problems
from berth.common.outside_url import outside_url_problem
from scheduling.services.job_body.ask import AfterAsk, ArrayAsk, JobAsk, RoleAsk
from scheduling.services.job_body.labels import read_labels
from scheduling.services.job_body.reader import BodyReader
from scheduling.services.job_body.role import (
    DNS_LABEL,
    DNS_RULE,
    MOST_REPLICAS,
    MOST_ROLES,
    MOUNT,
    MOUNT_RULE,
    OBJECT_NAME,
    OBJECT_RULE,
    read_role,
)

TIERS: Final = ("production", "development", "batch")
KINDS: Final = ("training", "service", "interactive")
TOPOLOGY_MODES: Final = ("none", "preferred", "required")
OBJECTIVES: Final = ("fastest", "cheapest")
DEFAULT_PRIORITY: Final = 500
HIGHEST_PRIORITY: Final = 1000
DEFAULT_RESTARTS: Final = 3
MOST_RESTARTS: Final = 1000
LONGEST_RUNTIME_S: Final = 366 * 86_400
MOST_MEMBERS: Final = 1000
MOST_AFTER: Final = 50
HIGHEST_JOB_ID: Final = 2**63 - 1
LEVEL: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?")
LEVEL_RULE: Final = _("Must be the name of a topology level, such as rack.")
SLUG: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
SLUG_RULE: Final = _("Use letters, digits, hyphens, dots and underscores.")


def read_job(body: Any, problems: Problems) -> JobAsk:
    """What `body` asks for. Wrong and unknown fields are noted in `problems`; the answer then only serves further checks."""
    fields = BodyReader(body, problems)
    mode, level = _topology(fields.below("topology"))
    step, cooldown = _elastic(fields.below("elastic"))
    checkpoint_path, checkpoint_interval = _checkpoint(fields.below("checkpoint"), given=fields.has("checkpoint"))
    output_claim, output_path = _output(fields.below("output"), given=fields.has("output"))
    ask = JobAsk(
        tenant=fields.text("tenant", longest=40, required=True, pattern=DNS_LABEL, rule=DNS_RULE),
        queue=fields.text("queue", longest=40, required=True, pattern=DNS_LABEL, rule=DNS_RULE),
        name=fields.text("name", longest=63, required=True),
        roles=_roles(fields),
        kind=fields.choice("kind", KINDS) or "training",
        tier=fields.choice("tier", TIERS),
        priority=_or(fields.integer("priority", 0, HIGHEST_PRIORITY), DEFAULT_PRIORITY),
        project=fields.text("project", longest=63, pattern=SLUG, rule=SLUG_RULE),
        topology_mode=mode,
        topology_level=level,
        elastic_step=step,
        elastic_cooldown_s=cooldown,
        expected_runtime_s=fields.integer("expected_runtime", 1, LONGEST_RUNTIME_S),
        max_runtime_s=fields.integer("max_runtime", 1, LONGEST_RUNTIME_S),
        max_restarts=_or(fields.integer("max_restarts", 0, MOST_RESTARTS), DEFAULT_RESTARTS),
        checkpoint_path=checkpoint_path,
        checkpoint_interval_s=checkpoint_interval,
        output_claim=output_claim,
        output_path=output_path,
        datasets=fields.words("datasets", most=50, longest=120),
        objective=fields.choice("objective", OBJECTIVES) or "fastest",
        deadline=fields.instant("deadline"),
        not_before=fields.instant("not_before"),
        after=_after(fields),
        array=_array(fields),
        callback_url=_callback(fields),
        labels=read_labels(fields),
    )
    fields.close()
    return ask


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _roles(fields: BodyReader) -> tuple[RoleAsk, ...]:
    roles: list[RoleAsk] = []
    for entry in fields.each("roles", most=MOST_ROLES, required=True):
        role = read_role(entry)
        if role.name and any(role.name == other.name for other in roles):
            entry.problem("name", _("%s is there twice.") % role.name, code="repeated")
        roles.append(role)
    if roles and not any(role.in_gang for role in roles):
        fields.problem("roles", _("At least one role must be in the gang."))
    return tuple(roles)


def _topology(fields: BodyReader) -> tuple[str, str]:
    mode = fields.choice("mode", TOPOLOGY_MODES) or "none"
    level = fields.text("level", longest=63, pattern=LEVEL, rule=LEVEL_RULE)
    if mode == "required" and not level:
        fields.problem("level", _("A required topology needs a level."), code="required")
    if fields.has("level") and not fields.has("mode"):
        fields.problem("mode", _("Choose one of: %s.") % ", ".join(TOPOLOGY_MODES), code="required")
    fields.close()
    return (mode, level) if mode != "none" else (mode, "")


def _elastic(fields: BodyReader) -> tuple[int | None, int | None]:
    found = fields.integer("step", 1, MOST_REPLICAS), fields.integer("cooldown", 0, LONGEST_RUNTIME_S)
    fields.close()
    return found


def _checkpoint(fields: BodyReader, *, given: bool) -> tuple[str, int | None]:
    found = (
        fields.text("path", longest=500, required=given, pattern=MOUNT, rule=MOUNT_RULE),
        fields.integer("interval", 1, LONGEST_RUNTIME_S),
    )
    fields.close()
    return found


def _output(fields: BodyReader, *, given: bool) -> tuple[str, str]:
    found = (
        fields.text("claim", longest=63, required=given, pattern=OBJECT_NAME, rule=OBJECT_RULE),
        fields.text("path", longest=500, required=given),
    )
    fields.close()
    return found


def _after(fields: BodyReader) -> tuple[AfterAsk, ...]:
    found: list[AfterAsk] = []
    for entry in fields.each("after", most=MOST_AFTER):
        job = entry.integer("job", 1, HIGHEST_JOB_ID, required=True)
        after = AfterAsk(job=job or 0, on=entry.choice("on", ("success", "any")) or "success")
        if any(after.job and after.job == other.job for other in found):
            entry.problem("job", _("%s is there twice.") % after.job, code="repeated")
        entry.close()
        found.append(after)
    return tuple(found)


def _array(fields: BodyReader) -> ArrayAsk | None:
    given = fields.has("array")
    entry = fields.below("array")
    size = entry.integer("size", 1, MOST_MEMBERS, required=given)
    limit = entry.integer("limit", 1, MOST_MEMBERS)
    entry.close()
    return ArrayAsk(size, limit) if size else None


def _callback(fields: BodyReader) -> str:
    url = fields.text("callback_url", longest=500)
    wrong = outside_url_problem(url) if url else None
    if wrong is not None:
        fields.problem("callback_url", wrong, code="url")
        return ""
    return url
