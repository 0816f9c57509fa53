"""One role of a body, with the range of its sizes (SCH-10)."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from berth.common.units import MILLI, gib_to_mib, to_milli
from scheduling.cluster.environment import reserved_names
from scheduling.services.job_body.ask import RoleAsk, VolumeAsk
from scheduling.services.job_body.reader import UNPRINTABLE, BodyReader

MOST_ROLES: Final = 16
MOST_REPLICAS: Final = 10_000
MOST_CARDS: Final = 1_000
MOST_CORES: Final = 100_000
MOST_GIB: Final = 1_000_000
MOST_PERIOD_S: Final = 30 * 86_400
MOST_ENV: Final = 500
MOST_ENV_CHARACTERS: Final = 32_768
HIGHEST_ID: Final = 2**31 - 1
HIGHEST_PORT: Final = 65_535

DNS_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
DNS_RULE: Final = _("Use lower-case letters, digits and hyphens; start with a letter.")
OBJECT_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
OBJECT_RULE: Final = _("Use lower-case letters, digits, hyphens and dots.")
FLAVOR: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?(@[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?")
FLAVOR_RULE: Final = _("A flavor is written as its name, or as name@pool.")
IMAGE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/:@-]*[A-Za-z0-9])?")
IMAGE_RULE: Final = _("Must be an image reference such as registry.example/team/train:1.")
MOUNT: Final = re.compile(r"/[^\s:]*")
MOUNT_RULE: Final = _("Must be an absolute path without spaces or colons.")
ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
CORES_RULE: Final = _("Must be a number of cores with at most 3 decimals.")
GIB_RULE: Final = _("Must be a number of GiB, a whole number of MiB.")
CARDS_RULE: Final = _("Must be a number of cards with at most 3 decimals.")


def read_role(fields: BodyReader) -> RoleAsk:
    """One entry of `roles`; wrong fields are noted and get a harmless value."""
    replicas = fields.integer("replicas", 1, MOST_REPLICAS, required=True) or 1
    resources = fields.below("resources")
    limits = fields.below("limits")
    role = RoleAsk(
        name=fields.text("name", longest=40, required=True, pattern=DNS_LABEL, rule=DNS_RULE),
        replicas=replicas,
        minimum=_minimum(fields, replicas),
        image=fields.text("image", longest=500, required=True, pattern=IMAGE, rule=IMAGE_RULE),
        cards_m=_cards(resources),
        flavors=resources.words("flavors", most=20, longest=63, pattern=FLAVOR, rule=FLAVOR_RULE),
        cpu_m=resources.amount("cpu", to_milli, MOST_CORES, CORES_RULE),
        memory_mib=resources.amount("memory", gib_to_mib, MOST_GIB, GIB_RULE),
        vram_mib=resources.amount("vram_per_gpu", gib_to_mib, MOST_GIB, GIB_RULE) or 0,
        cpu_limit_m=limits.amount("cpu", to_milli, MOST_CORES, CORES_RULE),
        memory_limit_mib=limits.amount("memory", gib_to_mib, MOST_GIB, GIB_RULE),
        in_gang=fields.flag("gang", default=True),
        period_s=fields.integer("period", 1, MOST_PERIOD_S),
        command=fields.lines("command", most=500, longest=MOST_ENV_CHARACTERS),
        args=fields.lines("args", most=500, longest=MOST_ENV_CHARACTERS),
        env=_env(fields),
        env_from=fields.words("env_from", most=20, longest=63, pattern=OBJECT_NAME, rule=OBJECT_RULE),
        image_pull=fields.words("image_pull", most=20, longest=63, pattern=OBJECT_NAME, rule=OBJECT_RULE),
        volumes=_volumes(fields),
        ports=fields.integers("ports", most=50, low=1, high=HIGHEST_PORT),
        shm_mib=fields.amount("shm_gib", gib_to_mib, MOST_GIB, GIB_RULE),
        run_as_user=fields.integer("run_as_user", 1, HIGHEST_ID),
        run_as_group=fields.integer("run_as_group", 1, HIGHEST_ID),
        fs_group=fields.integer("fs_group", 1, HIGHEST_ID),
    )
    _check_together(role, fields, resources, limits)
    for part in (resources, limits, fields):
        part.close()
    return role


def _minimum(fields: BodyReader, replicas: int) -> int:
    """Any size from 1 pod on: with the step of the job it is always one of the sizes that the role may have."""
    minimum = fields.integer("min_replicas", 1, MOST_REPLICAS)
    if minimum is None:
        return replicas
    if minimum > replicas:
        fields.problem("min_replicas", _("Must be from 1 to replicas (%d).") % replicas, code="range")
    return min(minimum, replicas)


def _cards(resources: BodyReader) -> int:
    cards_m = resources.amount("gpu", to_milli, MOST_CARDS, CARDS_RULE) or 0
    if cards_m > MILLI and cards_m % MILLI:
        resources.problem("gpu", _("Must be a whole number of cards, or a share below 1."), code="range")
        return 0
    return cards_m


def _env(fields: BodyReader) -> Mapping[str, str]:
    pairs = fields.entries("env", most=MOST_ENV)
    reserved = set(reserved_names(name for name, _value in pairs))
    env: dict[str, str] = {}
    for name, value in pairs:
        at = f"env.{name[:80]}"
        if not ENV_NAME.fullmatch(name):
            fields.problem(at, _("A variable's name has letters, digits and underscores, 128 at most."), code="pattern")
        elif name in reserved:
            fields.problem(at, _("%s is set by the platform and cannot be set by a job.") % name, code="reserved")
        elif not isinstance(value, str):
            fields.problem(at, _("Must be text: put numbers in quotes."), code="type")
        elif UNPRINTABLE.search(value) or len(value) > MOST_ENV_CHARACTERS:
            fields.problem(
                at, _("At most %d characters, no control characters.") % MOST_ENV_CHARACTERS, code="characters"
            )
        else:
            env[name] = value
    return env


def _volumes(fields: BodyReader) -> tuple[VolumeAsk, ...]:
    volumes: list[VolumeAsk] = []
    for entry in fields.each("volumes", most=50):
        volume = VolumeAsk(
            claim=entry.text("claim", longest=63, required=True, pattern=OBJECT_NAME, rule=OBJECT_RULE),
            mount=entry.text("mount", longest=500, required=True, pattern=MOUNT, rule=MOUNT_RULE),
            read_only=entry.flag("read_only", default=False),
        )
        if any(volume.mount and volume.mount == other.mount for other in volumes):
            entry.problem("mount", _("%s is there twice.") % volume.mount, code="repeated")
        entry.close()
        volumes.append(volume)
    return tuple(volumes)


def _check_together(role: RoleAsk, fields: BodyReader, resources: BodyReader, limits: BodyReader) -> None:
    if role.in_gang and role.period_s is not None:
        fields.problem("period", _("Only a role outside the gang (gang: false) can be periodic."))
    if role.minimum < role.replicas:
        if not role.in_gang:
            fields.problem(
                "min_replicas",
                _("Only a role of the gang has a range of sizes: must equal replicas (%d).") % role.replicas,
                code="range",
            )
        elif 0 < role.cards_m < MILLI:
            fields.problem(
                "min_replicas",
                _("Sizes of roles with a share of a card are not supported yet: must equal replicas (%d).")
                % role.replicas,
                code="not-supported-yet",
            )
    if role.flavors and not role.cards_m and not _refused(resources, "gpu"):
        resources.problem("flavors", _("Flavors are for cards: give gpu, or leave flavors out."))
    if role.vram_mib and not role.cards_m and not _refused(resources, "gpu"):
        resources.problem("vram_per_gpu", _("VRAM is for cards: give gpu, or leave vram_per_gpu out."))
    _check_limit(limits, "cpu", role.cpu_m, role.cpu_limit_m)
    _check_limit(limits, "memory", role.memory_mib, role.memory_limit_mib)


def _refused(resources: BodyReader, key: str) -> bool:
    """Whether something was given there but found wrong: then what depends on it gets no second complaint."""
    given: Any = resources.raw(key)
    return given is not None and given != 0


def _check_limit(limits: BodyReader, key: str, request: int | None, limit: int | None) -> None:
    if limit is not None and request is not None and limit < request:
        limits.problem(key, _("A limit must not be below what the role asks for."), code="range")
