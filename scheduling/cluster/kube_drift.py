"""Where an object in a cluster is not as it should be. PURE. What the server or others add to it is not ours to judge."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scheduling.cluster.kube_reading import quantity_milli

MOST_NAMED = 5
EXACT = {"NetworkPolicy": ("spec",), "RoleBinding": ("roleRef", "subjects")}
"""What may have nothing added to it: a selector more lets somebody in."""
_FALSE_IS_LEFT_OUT = ("globalDefault",)
_HOLES = {
    "ValidatingAdmissionPolicy": ("spec.matchConstraints.excludeResourceRules", "spec.matchConstraints.objectSelector"),
    "ValidatingAdmissionPolicyBinding": ("spec.matchResources",),
}
"""What would let something past a policy, and is empty where nobody put it there."""


def differences(wanted: Mapping[str, Any], there: Mapping[str, Any] | None) -> str:
    """The fields that differ, in one line; empty where nothing does. Amounts are compared as amounts: `5000` is `5k`."""
    if there is None:
        return "missing"
    exact = EXACT.get(str(wanted.get("kind")), ())
    opened = [part for part in exact if part in wanted and wanted[part] != there.get(part)]
    if opened:
        return ", ".join(opened)
    holes = [path for path in _HOLES.get(str(wanted.get("kind")), ()) if _at(there, path)]
    if holes:
        return ", ".join(holes)
    found = [path for path in _differing(wanted, there, "") if path not in ("apiVersion", "kind")]
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more


def _at(document: Mapping[str, Any], path: str) -> Any:
    found: Any = document
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _differing(wanted: Any, there: Any, path: str) -> Iterator[str]:
    if isinstance(wanted, Mapping):
        fields = there if isinstance(there, Mapping) else {}
        for key, value in wanted.items():
            yield from _differing(value, fields.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(wanted, Sequence) and not isinstance(wanted, str):
        entries = there if isinstance(there, Sequence) and not isinstance(there, str) else []
        if len(wanted) != len(entries):
            yield path
            return
        for at, (one, other) in enumerate(zip(wanted, entries, strict=True)):
            yield from _differing(one, other, f"{path}[{at}]")
    elif wanted != there and not _same_amount(wanted, there) and not (path in _FALSE_IS_LEFT_OUT and there is None):
        yield path


def _same_amount(wanted: Any, there: Any) -> bool:
    try:
        return quantity_milli(str(wanted)) == quantity_milli(str(there))
    except ValueError:
        return False
