"""YAML text -> values that know their line, and a reader that takes every key once, so that unknown keys are found.

Nothing is converted while parsing: `1.10` stays the text it is, and only `quantities` decides what it means.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import yaml

from scheduling.simulator.problems import Problems, WrongValueError

T = TypeVar("T")

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
    return _value(root, problems, "", ())


def _value(node: yaml.Node, problems: Problems, path: str, above: tuple[yaml.Node, ...]) -> Value:
    line = node.start_mark.line + 1
    if node in above:
        problems.add(line, path, "an alias may not contain itself")
        return Scalar("", null=True, line=line)
    within = (*above, node)
    if isinstance(node, yaml.ScalarNode):
        return Scalar(node.value, null=node.tag == NULL_TAG, line=line)
    if isinstance(node, yaml.SequenceNode):
        items = (_value(item, problems, f"{path}[{i}]", within) for i, item in enumerate(node.value))
        return Series(tuple(items), line)
    entries: dict[str, tuple[int, Value]] = {}
    for key, value in node.value:
        key_line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            problems.add(key_line, path, "a key must be a plain word")
            continue
        name = join(path, key.value)
        if key.value in entries:
            problems.add(key_line, name, f"given twice, first on line {entries[key.value][0]}")
            continue
        entries[key.value] = (key_line, _value(value, problems, name, within))
    return Block(entries, line)


def join(path: str, key: str) -> str:
    """The path of `key` below `path`, as problems print it."""
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
