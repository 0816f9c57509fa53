"""Finds every message that the sources hand to gettext, without needing gettext's own programs."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

# name -> how many leading arguments are texts, and which of them is a context
_CALLS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), (1, None)),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (2, None)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), (2, 0)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), (3, 0)),
}
_TEMPLATE_CALL = re.compile(
    r"\b(?P<name>n?p?gettext|_)\(\s*(?P<arguments>(?:u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\s*,?\s*)+)"
)

Message = tuple[str | None, str]
"""Context and msgid."""


def in_python(path: Path) -> Iterator[Message]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            texts = [argument.value if isinstance(argument, ast.Constant) else None for argument in node.args]
            yield from _message(name, texts)


def in_template(path: Path) -> Iterator[Message]:
    """Django turns a template into something that reads like calls of gettext, as `makemessages` does."""
    from django.utils.translation.template import templatize

    for found in _TEMPLATE_CALL.finditer(templatize(path.read_text(), origin=str(path))):
        arguments = ast.literal_eval(f"({found['arguments'].rstrip().rstrip(',')},)")
        yield from _message(found["name"], list(arguments))


def _message(name: str, texts: Sequence[object]) -> Iterator[Message]:
    if name not in _CALLS:
        return
    count, context_at = _CALLS[name]
    wanted = list(texts[:count])
    if len(wanted) == count and all(isinstance(text, str) for text in wanted):
        context = str(wanted.pop(context_at)) if context_at is not None else None
        yield context, str(wanted[0])
