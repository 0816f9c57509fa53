"""Reads a pod manifest as the simulated API server does: which node, how much, and the `berth.dev/sim-*` labels. PURE."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from scheduling.cluster import names
from scheduling.cluster.kubelet import OUTCOMES
from scheduling.cluster.port import PodKey
from scheduling.cluster.virtual import VirtualPod

DEFAULT_STOP_DELAY_S = "5"
STUCK = "never"
DEFAULT_GRACE_S = 30
_NOT_CARDS = frozenset({"cpu", "memory", "ephemeral-storage"})


class ManifestUnreadableError(ValueError):
    """A manifest that an API server would not take. `name` is the pod's, as far as it is known."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.name = name


def read_pod(manifest: object, *, run_name: str, created_at: datetime) -> VirtualPod:
    """The virtual pod a manifest asks for, still without uid and start. Raises `ManifestUnreadableError`."""
    document = cast(Mapping[str, Any], manifest)
    metadata, spec = document["metadata"], document["spec"]
    name, labels = metadata["name"], metadata.get("labels", {})
    annotations = metadata.get("annotations", {})
    requests = spec["containers"][0].get("resources", {}).get("requests", {})
    outcome = labels.get(names.SIM_OUTCOME, "succeeded")
    if outcome not in OUTCOMES:
        raise ManifestUnreadableError(
            name, f"{names.SIM_OUTCOME}: {outcome!r} is none of {', '.join(sorted(OUTCOMES))}"
        )
    return VirtualPod(
        key=PodKey(metadata["namespace"], name),
        uid="",
        run_name=run_name,
        labels=dict(labels),
        annotations=dict(annotations),
        node=spec["nodeName"],
        card_count=sum(int(amount) for key, amount in requests.items() if _is_card(key)),
        cpu_millicores=_millicores(requests.get("cpu", "0")),
        memory_mib=_mebibytes(requests.get("memory", "0")),
        grace_s=spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE_S),
        created_at=created_at,
        start_due=None,
        duration=_duration(name, labels, annotations),
        outcome=outcome,
        utilisation_ppm=_utilisation(name, labels),
        stop_delay=_stop_delay(name, labels),
    )


def _is_card(resource: str) -> bool:
    """What a share asks of its card beside it (`nvidia.com/gpumem`, `nvidia.com/gpucores`) is no card."""
    return resource not in _NOT_CARDS and not resource.endswith(("/gpumem", "/gpucores"))


def _number(name: str, labels: Mapping[str, str], key: str) -> Decimal | None:
    if key not in labels:
        return None
    try:
        number = Decimal(labels[key])
    except InvalidOperation:
        raise ManifestUnreadableError(name, f"{key}: {labels[key]!r} is not a number") from None
    if not number.is_finite() or number < 0:
        raise ManifestUnreadableError(name, f"{key}: {labels[key]!r} is not a number from 0 up")
    return number


def _seconds(name: str, labels: Mapping[str, str], key: str) -> timedelta | None:
    number = _number(name, labels, key)
    return None if number is None else timedelta(milliseconds=int(number * 1000))


def _duration(name: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> timedelta | None:
    """As the label says; without it as long as the owner expects; None where nobody says: it runs until it is stopped. A pod that
    joined later ends with the others."""
    labelled = _seconds(name, labels, names.SIM_DURATION)
    whole = labelled if labelled is not None else _seconds(name, annotations, names.EXPECTED_RUNTIME)
    missed = _seconds(name, annotations, names.JOINED_AFTER) or timedelta(0)
    return None if whole is None else max(whole - missed, timedelta(0))


def _stop_delay(name: str, labels: Mapping[str, str]) -> timedelta | None:
    if labels.get(names.SIM_STOP_DELAY) == STUCK:
        return None
    return _seconds(name, {names.SIM_STOP_DELAY: DEFAULT_STOP_DELAY_S, **labels}, names.SIM_STOP_DELAY)


def _utilisation(name: str, labels: Mapping[str, str]) -> int:
    share = _number(name, labels, names.SIM_UTILISATION)
    return 0 if share is None else int(min(share, Decimal(1)) * 1_000_000)


def _millicores(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000


def _mebibytes(quantity: str) -> int:
    factors = {"Ki": Decimal(1) / 1024, "Mi": Decimal(1), "Gi": Decimal(1024), "Ti": Decimal(1024 * 1024)}
    factor = factors.get(quantity[-2:])
    return int(Decimal(quantity[:-2]) * factor) if factor is not None else int(quantity) // (1024 * 1024)
