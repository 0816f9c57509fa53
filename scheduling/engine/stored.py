"""SCH-22: what one cycle decided on, as bytes that a later day can read: snapshot, policy and now. Pure; knows no field by name.

The format follows the records themselves: a record is its fields' values in order, an array its kind and its bytes. With it goes a
description of every record's fields, so that a record that gained or lost a field since is told apart by name and never misread.
Equal input gives equal bytes. Bytes are trusted no further than any input: only the engine's own records are made from them.
"""

import dataclasses
import hashlib
import json
import types
import typing
import zlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, Final

import numpy as np

from scheduling.engine.plan import Plan
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Snapshot

VERSION: Final = 1
MAGIC: Final = b"berth-cycle"
LEVEL: Final = 3
MOST_BYTES: Final = 1 << 30
"""Of a picture that was unpacked: beyond it somebody plays with us."""


class StoredCycleError(ValueError):
    """Bytes that this version cannot read; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class StoredCycle:
    """All that a plan depends on, and the plan that was made of it; None where planning raised."""

    snapshot: Snapshot
    policy: Policy
    now_ms: int
    plan: Plan | None


def store(cycle: StoredCycle) -> bytes:
    """The cycle as bytes: the same for equal ones, whatever the process."""
    text = _text({"records": _described(), "cycle": _packed(cycle)})
    return MAGIC + bytes([VERSION]) + zlib.compress(text.encode(), LEVEL)


def restore(stored: bytes) -> StoredCycle:
    """The cycle that was stored. Raises StoredCycleError for another format, for records that changed since, and for damage."""
    head = len(MAGIC)
    if stored[:head] != MAGIC or len(stored) <= head:
        raise StoredCycleError("not a stored cycle")
    if stored[head] != VERSION:
        raise StoredCycleError(f"stored by format {stored[head]}, this version reads format {VERSION}")
    try:
        document = json.loads(zlib.decompressobj().decompress(stored[head + 1 :], MOST_BYTES))
        records, packed = document["records"], document["cycle"]
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise StoredCycleError(f"damaged: {error}") from error
    _refuse_other_records(records)
    cycle = _unpacked(packed)
    if not isinstance(cycle, StoredCycle):
        raise StoredCycleError("not a stored cycle")
    return cycle


def plan_digest(plan: Plan) -> str:
    """SHA-256 of a plan, byte for byte."""
    return hashlib.sha256(_text(_packed(plan)).encode()).hexdigest()


def _text(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _records() -> dict[str, type[Any]]:
    """Every record class that the fields of a stored cycle speak of, by name."""
    found: dict[str, type[Any]] = {}
    waiting: list[Any] = [StoredCycle]
    while waiting:
        kind = waiting.pop()
        if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind.__name__ not in found:
            found[kind.__name__] = kind
            waiting += typing.get_type_hints(kind).values()
        waiting += typing.get_args(kind)
    return found


def _enums() -> dict[str, type[Enum]]:
    found: dict[str, type[Enum]] = {}
    waiting = [hint for kind in _records().values() for hint in typing.get_type_hints(kind).values()]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, Enum):
            found[kind.__name__] = kind
        waiting += typing.get_args(kind)
    return found


def _described() -> dict[str, list[str]]:
    return {name: [field.name for field in dataclasses.fields(kind)] for name, kind in sorted(_records().items())}


def _refuse_other_records(stored: Mapping[str, list[str]]) -> None:
    for name, fields in sorted(_described().items()):
        if name not in stored:
            continue
        missing = [field for field in fields if field not in stored[name]]
        gone = [field for field in stored[name] if field not in fields]
        if missing or gone:
            changes = [f"gained {field}" for field in missing] + [f"lost {field}" for field in gone]
            raise StoredCycleError(f"stored before {name} {', '.join(changes)}: another version decided this cycle")
    unknown = sorted(set(stored) - set(_described()))
    if unknown:
        raise StoredCycleError(f"stored with records that this version does not know: {', '.join(unknown)}")


def _packed(value: Any) -> Any:
    """JSON: numbers, texts, truth and null as they are; everything else as a list that begins with its kind."""
    kind = type(value)
    # Every type is hashable, which the checker does not believe of `type[Any]`.
    return value if kind in _PLAIN else _packer(kind)(value)  # type: ignore[arg-type]


@cache
def _packer(kind: type[Any]) -> Callable[[Any], Any]:
    """How values of a type are packed, worked out once a type: a cycle holds hundreds of thousands of a few types."""
    if issubclass(kind, int):
        return int  # A tier in a field of numbers is a number.
    if issubclass(kind, Enum):
        return lambda value: ["enum", kind.__name__, value.value]
    if dataclasses.is_dataclass(kind):
        name, names = kind.__name__, [field.name for field in dataclasses.fields(kind)]
        return lambda value: ["record", name, *[_packed(getattr(value, each)) for each in names]]
    for base, pack in _PACK.items():
        if issubclass(kind, base):
            return pack
    raise TypeError(f"{kind.__name__} cannot be stored")


def _packed_tuple(value: tuple[Any, ...]) -> list[Any]:
    return ["tuple", *[each if type(each) in _PLAIN else _packed(each) for each in value]]


def _packed_set(value: frozenset[Any]) -> list[Any]:
    return ["frozenset", *sorted((_packed(each) for each in value), key=repr)]


def _packed_mapping(value: Mapping[Any, Any]) -> list[Any]:
    pairs = [[_packed(key), _packed(each)] for key, each in value.items()]
    return ["mapping", *(sorted(pairs, key=lambda pair: repr(pair[0])) if len(pairs) > 1 else pairs)]


_PLAIN: Final = frozenset({int, str, bool, type(None)})
_PACK: Final[Mapping[type[Any], Callable[[Any], Any]]] = types.MappingProxyType(
    {
        tuple: _packed_tuple,
        list: lambda value: ["list", *map(_packed, value)],
        np.ndarray: lambda value: ["array", value.dtype.str, list(value.shape), value.tobytes().hex()],
        Decimal: lambda value: ["decimal", str(value)],
        np.integer: lambda value: value.item(),
        np.bool_: lambda value: value.item(),
        frozenset: _packed_set,
        Mapping: _packed_mapping,
    }
)
_RECORDS: Final[Mapping[str, type[Any]]] = types.MappingProxyType(_records())
_ENUMS: Final[Mapping[str, type[Enum]]] = types.MappingProxyType(_enums())


def _unpacked(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    try:
        kind, *rest = value
        return _UNPACK[kind](rest)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise StoredCycleError(f"damaged: {type(error).__name__} {error}") from error


def _array(rest: list[Any]) -> Any:
    dtype, shape, data = rest
    array = np.frombuffer(bytes.fromhex(data), dtype=np.dtype(dtype)).reshape(shape)
    array.setflags(write=False)
    return array


_UNPACK: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "tuple": lambda rest: tuple(map(_unpacked, rest)),
    "list": lambda rest: list(map(_unpacked, rest)),
    "frozenset": lambda rest: frozenset(map(_unpacked, rest)),
    "mapping": lambda rest: {_unpacked(key): _unpacked(each) for key, each in rest},
    "array": _array,
    "decimal": lambda rest: Decimal(rest[0]),
    "enum": lambda rest: _ENUMS[rest[0]](rest[1]),
    "record": lambda rest: _RECORDS[rest[0]](*map(_unpacked, rest[1:])),
}
