"""The submit form as a face of a job's body: fields are read out of a body and written back into it; nothing else of it is lost.

A body that was sent as YAML may hold more than the form shows (further roles, volumes): it travels along whole, and the form
only replaces what it shows. Words and ranges are judged by the services, not here.
"""

import math
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from berth.common.errors import FieldProblem, InvalidError
from berth.common.parsing import read_json

Body = dict[str, Any]

DURATION: Final = re.compile(r"^\s*(\d{1,12}(?:\.\d{1,6})?)\s*(s|sec|秒|m|min|分|分钟|h|小时|d|天)?\s*$", re.IGNORECASE)
LONGEST_NUMBER: Final = 40
SECONDS: Final = {
    "s": 1,
    "sec": 1,
    "秒": 1,
    "m": 60,
    "min": 60,
    "分": 60,
    "分钟": 60,
    "h": 3600,
    "小时": 3600,
    "d": 86_400,
    "天": 86_400,
}

FIELDS: Final[Mapping[str, tuple[str, Any]]] = {
    "queue": ("queue", _("Queue")),
    "tier": ("tier", _("Tier")),
    "name": ("name", _("Name")),
    "replicas": ("roles[0].replicas", _("Pods")),
    "min_replicas": ("roles[0].min_replicas", _("Pods at least")),
    "gpu": ("roles[0].resources.gpu", _("Cards a pod")),
    "flavor": ("roles[0].resources.flavors", _("Flavor")),
    "cpu": ("roles[0].resources.cpu", _("CPU cores")),
    "memory": ("roles[0].resources.memory", _("Memory GiB")),
    "image": ("roles[0].image", _("Image")),
    "command": ("roles[0].command", _("Command")),
    "expected_runtime": ("expected_runtime", _("Expected run time")),
    "max_runtime": ("max_runtime", _("Longest run")),
    "topology_mode": ("topology.mode", _("Topology")),
    "topology_level": ("topology.level", _("Same")),
    "objective": ("objective", _("Of several flavors")),
    "priority": ("priority", _("Priority")),
    "max_restarts": ("max_restarts", _("Restarts")),
    "checkpoint_path": ("checkpoint.path", _("Checkpoint path")),
    "checkpoint_interval": ("checkpoint.interval", _("Checkpoint every")),
    "env": ("roles[0].env", _("Environment")),
    "labels": ("labels", _("Labels")),
    "project": ("project", _("Project")),
}
"""Form field → the path that services name it by, and its label."""

DURATIONS: Final = ("expected_runtime", "max_runtime", "checkpoint_interval")
FOLDED: Final = (
    "objective",
    "priority",
    "max_restarts",
    "checkpoint_path",
    "checkpoint_interval",
    "env",
    "labels",
    "project",
)


def empty_body() -> Body:
    """What a new form starts from: one pod of one card."""
    return {
        "name": "",
        "roles": [{"name": "worker", "replicas": 1, "resources": {"gpu": 1}, "image": "", "command": []}],
    }


def fields_of(body: Mapping[str, Any]) -> dict[str, str]:
    """Texts of the form's fields, as a person would type them."""
    role = _first_role(body)
    resources = _mapping(role.get("resources"))
    topology, checkpoint = _mapping(body.get("topology")), _mapping(body.get("checkpoint"))
    flavors = resources.get("flavors")
    texts = {
        "queue": f"{body['tenant']}/{body['queue']}" if body.get("tenant") and body.get("queue") else "",
        "tier": body.get("tier"),
        "name": body.get("name"),
        "replicas": role.get("replicas"),
        "min_replicas": None if role.get("min_replicas") == role.get("replicas") else role.get("min_replicas"),
        "gpu": resources.get("gpu"),
        "flavor": flavors[0] if isinstance(flavors, list) and len(flavors) == 1 else "",
        "cpu": resources.get("cpu"),
        "memory": resources.get("memory"),
        "image": role.get("image"),
        "command": shlex.join(str(part) for part in _list(role.get("command"))),
        "topology_mode": topology.get("mode"),
        "topology_level": topology.get("level"),
        "checkpoint_path": checkpoint.get("path"),
        "checkpoint_interval": _duration_text(checkpoint.get("interval")),
        "expected_runtime": _duration_text(body.get("expected_runtime")),
        "max_runtime": _duration_text(body.get("max_runtime")),
        "objective": "" if body.get("objective") == "fastest" else body.get("objective"),
        "priority": body.get("priority"),
        "max_restarts": body.get("max_restarts"),
        "env": _lines(role.get("env")),
        "labels": _lines(body.get("labels")),
        "project": body.get("project"),
    }
    return {name: "" if value is None else str(value) for name, value in texts.items()}


def body_of_form(form: QueryDict) -> Body:
    """The body that the form says: what it shows, laid over what it was opened with (`rest`). Raises InvalidError if that is unreadable."""
    body = _rest(form.get("rest", ""))
    tenant, _slash, queue = form.get("queue", "").partition("/")
    _put(body, "tenant", tenant)
    _put(body, "queue", queue)
    for name in ("tier", "name", "project", "objective"):
        _put(body, name, form.get(name, "").strip())
    for name in ("priority", "max_restarts"):
        _put(body, name, _number(form.get(name, "")))
    for name in ("expected_runtime", "max_runtime"):
        _put(body, name, _seconds(form.get(name, "")))
    _put(body, "labels", _pairs(form.get("labels", "")))
    _put(body, "topology", _topology(form))
    path, interval = form.get("checkpoint_path", "").strip(), _seconds(form.get("checkpoint_interval", ""))
    _put(body, "checkpoint", _without_empty({"path": path, "interval": interval}))
    _role_of_form(form, body)
    return body


def _role_of_form(form: QueryDict, body: Body) -> None:
    roles = _list(body.get("roles")) or [{"name": "worker"}]
    role = dict(_mapping(roles[0]))
    resources = dict(_mapping(role.get("resources")))
    for name in ("gpu", "cpu", "memory"):
        _put(resources, name, _number(form.get(name, "")))
    flavor = form.get("flavor", "")
    if flavor or len(_list(resources.get("flavors"))) <= 1:
        _put(resources, "flavors", [flavor] if flavor else None)
    _put(role, "replicas", _number(form.get("replicas", "")))
    smallest = _number(form.get("min_replicas", ""))
    if smallest is not None or role.get("min_replicas") is not None:
        _put(role, "min_replicas", role.get("replicas") if smallest is None else smallest)
    _put(role, "resources", resources)
    _put(role, "image", form.get("image", "").strip())
    _put(role, "command", _words(form.get("command", "")))
    _put(role, "env", _pairs(form.get("env", "")))
    body["roles"] = [role, *roles[1:]]


def anchor_of(path: str) -> str:
    """The id of the form field that a problem's path points at; the YAML face and unknown paths have one each."""
    best = ""
    for name, (known, _label) in FIELDS.items():
        if (path == known or path.startswith((f"{known}.", f"{known}["))) and len(known) > len(
            FIELDS.get(best, ("",))[0]
        ):
            best = name
    if path == "tenant":
        best = "queue"
    return f"field-{best}" if best else "face"


def label_of(path: str) -> Any:
    """The field's label; a path that the form does not show is named as the body does."""
    name = anchor_of(path).removeprefix("field-")
    return FIELDS[name][1] if name in FIELDS else path


def _first_role(body: Mapping[str, Any]) -> Mapping[str, Any]:
    roles = _list(body.get("roles"))
    return _mapping(roles[0]) if roles else {}


def _rest(text: str) -> Body:
    """What the form does not show, as the page wrote it. Raises InvalidError for anything else."""
    if not text:
        return {}
    try:
        body, wrong = read_json(text)
    except (ValueError, RecursionError):
        body, wrong = None, {}
    if isinstance(body, dict) and not wrong:
        return body
    message = _("What the form does not show could not be read. Open it again, or write the job as YAML.")
    raise InvalidError([FieldProblem("body", "rest", message)])


def _topology(form: QueryDict) -> Body | None:
    mode, level = form.get("topology_mode", ""), form.get("topology_level", "")
    return _without_empty({"mode": mode, "level": level}) if mode and mode != "none" else None


def _put(into: Body, key: str, value: Any) -> None:
    """A field that is empty is not asked for at all."""
    if value in (None, "", [], {}):
        into.pop(key, None)
    else:
        into[key] = value


def _without_empty(mapping: Mapping[str, Any]) -> Body | None:
    return {key: value for key, value in mapping.items() if value not in (None, "")} or None


def _number(text: str) -> int | float | str | None:
    """A number if it is one; else the text itself, which the services refuse by name."""
    text = text.strip().replace(",", "")
    if not text:
        return None
    if len(text) > LONGEST_NUMBER:
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _seconds(text: str) -> int | str | None:
    """`10 h`, `90min`, `2小时` or plain seconds; other text stays as it is and is refused by name."""
    if not text.strip():
        return None
    found = DURATION.match(text)
    if found is None:
        return text.strip()
    return round(float(found[1]) * SECONDS[(found[2] or "s").lower()])


def _duration_text(seconds: Any) -> str:
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return "" if seconds is None else str(seconds)
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return [text]


def _pairs(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if line.strip())
    return {key.strip(): value.strip() for key, _equals, value in pairs}


def _lines(mapping: Any) -> str:
    return "\n".join(f"{key}={value}" for key, value in _mapping(mapping).items())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
