"""YAML text -> values that know their line, and a reader that takes every key once, so that unknown keys are found.

Nothing is converted while parsing: `1.10` stays the text it is, and only `quantities` decides what it means.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import yaml

from berth.common.shown import LONGEST
from scheduling.simulator.problems import Problems, WrongValueError

T = TypeVar("T")

DEEPEST = 32
MOST_REPEATED = 100_000
"""Values that aliases may repeat, all together."""
LONGEST_PATH = 200
NULL_TAG = "tag:yaml.org,2002:null"
_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value as written. `null` is a plain null or nothing at all: "not given", or "no limit" where a limit may be."""

    text: str
    null: bool
    line: int


@dataclass(frozen=True, slots=True)
class Series:
    items: "tuple[Value, ...]"
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    entries: "dict[str, tuple[int, Value]]"
    line: int


Value = Scalar | Series | Block


def parse_yaml(text: str, problems: Problems) -> Value:
    """The document in `text`; raises `InvalidFileError` where it is no YAML. Repeated keys are noted as problems."""
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problems.add(mark.line + 1 if mark else 1, "", f"not valid YAML: {getattr(error, 'problem', None) or error}")
        problems.raise_if_any()
        raise
    if root is None:
        return Block({}, 1)
    return _Unfolding(problems).value(root, "")


class _Unfolding:
    """Turns nodes into values. What aliases repeat is bounded: a few lines of them could stand for billions of values."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._seen: set[int] = set()
        self._repeated = 0

    def value(self, node: yaml.Node, path: str, depth: int = 0, *, repeated: bool = False) -> Value:
        """The value of `node`; raises `InvalidFileError` where the document is too deep or unfolds too far."""
        line = node.start_mark.line + 1
        repeated = repeated or id(node) in self._seen
        self._seen.add(id(node))
        self._repeated += repeated
        if depth > DEEPEST or self._repeated > MOST_REPEATED:
            why = f"is nested in more than {DEEPEST} levels" if depth > DEEPEST else "aliases repeat too many values"
            self._problems.add(line, path[:LONGEST_PATH], why)
            self._problems.raise_if_any()
        if isinstance(node, yaml.ScalarNode):
            return Scalar(node.value, null=node.tag == NULL_TAG, line=line)
        if isinstance(node, yaml.SequenceNode):
            items = [
                self.value(item, f"{path}[{i}]", depth + 1, repeated=repeated) for i, item in enumerate(node.value)
            ]
            return Series(tuple(items), line)
        return Block(dict(self._entries(node, path, depth, repeated=repeated)), line)

    def _entries(
        self, node: yaml.Node, path: str, depth: int, *, repeated: bool
    ) -> Iterator[tuple[str, tuple[int, Value]]]:
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._problems.add(line, path, "a key must be a plain word")
                continue
            name = join(path, key.value)
            if key.value in lines:
                self._problems.add(line, name, f"given twice, first on line {lines[key.value]}")
                continue
            lines[key.value] = line
            yield key.value, (line, self.value(value, name, depth + 1, repeated=repeated))


def join(path: str, key: str) -> str:
    """The path of `key` below `path`, as problems print it."""
    key = key if len(key) <= LONGEST else f"{key[:LONGEST]}…"
    return f"{path}.{key}" if path else key


class Fields:
    """A mapping while it is being read: each key is taken once, `close` reports those that nobody asked for."""

    __slots__ = ("_asked", "_entries", "line", "path", "problems")

    def __init__(self, value: Value | None, path: str, problems: Problems, *, line: int = 1) -> None:
        self.path, self.problems = path, problems
        self._asked: list[str] = []
        self._entries: dict[str, tuple[int, Value]] = {}
        self.line = value.line if value is not None else line
        if isinstance(value, Block):
            self._entries = value.entries
        elif value is not None and not (isinstance(value, Scalar) and value.null):
            problems.add(value.line, path, "must be a mapping of keys to values")

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def problem(self, key: str, text: str) -> None:
        """Note a problem with the value of `key` (or with the whole mapping where the key is absent or empty)."""
        line, _ = self._entries.get(key, (self.line, None))
        self.problems.add(line, join(self.path, key) if key else self.path, text)

    def value(self, key: str) -> Value | None:
        """The raw value of `key`; None where it is absent or null."""
        self._asked.append(key)
        _, value = self._entries.get(key, (0, None))
        return None if isinstance(value, Scalar) and value.null else value

    def take(self, key: str, parse: Callable[[str], T], default: T) -> T:
        """The parsed scalar at `key`; `default` where it is absent, null or wrong (then a problem is noted)."""
        value = self.value(key)
        if value is None:
            return default
        if not isinstance(value, Scalar):
            self.problem(key, "must be one value, not a list or mapping")
            return default
        try:
            return parse(value.text)
        except WrongValueError as wrong:
            self.problem(key, str(wrong))
            return default

    def need(self, key: str, parse: Callable[[str], T], default: T) -> T:
        """Like `take`, but the key is required; `default` only stands in so that reading can go on."""
        if self.value(key) is None:
            self.problem("", f"{key} is required")
            return default
        return self.take(key, parse, default)

    def below(self, key: str) -> "Fields":
        """The mapping at `key`, empty where it is absent."""
        return Fields(self.value(key), join(self.path, key), self.problems, line=self.line)

    def each(self, key: str) -> "Iterator[Fields]":
        """The mappings in the list at `key`."""
        for path, value in self.items(key):
            yield Fields(value, path, self.problems)

    def items(self, key: str) -> list[tuple[str, Value]]:
        """The values in the list at `key` with their paths; nothing where it is absent."""
        value = self.value(key)
        if value is None:
            return []
        if not isinstance(value, Series):
            self.problem(key, "must be a list")
            return []
        path = join(self.path, key)
        return [(f"{path}[{i}]", item) for i, item in enumerate(value.items)]

    def words(self, key: str, parse: Callable[[str], T]) -> list[T]:
        """The list of scalars at `key`, each parsed."""
        found: list[T] = []
        for path, value in self.items(key):
            if not isinstance(value, Scalar) or value.null:
                self.problems.add(value.line, path, "must be one value")
                continue
            try:
                found.append(parse(value.text))
            except WrongValueError as wrong:
                self.problems.add(value.line, path, str(wrong))
        return found

    def named(self) -> list[tuple[str, int]]:
        """All keys with their lines, for mappings whose keys are names; they count as asked for."""
        self._asked.extend(self._entries)
        return [(key, line) for key, (line, _) in self._entries.items()]

    def ignore(self, *keys: str) -> None:
        """Keys that are part of the contract and change nothing here."""
        self._asked.extend(keys)

    def close(self) -> None:
        """Report every key that was not asked for."""
        known = list(dict.fromkeys(self._asked))
        for key, (line, _) in self._entries.items():
            if key not in known:
                self.problems.add(line, join(self.path, key), f"unknown key; known here: {', '.join(known)}")
