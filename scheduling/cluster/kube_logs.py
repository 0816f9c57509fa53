"""A pod's output from an API server that passes it on from the kubelet: bounded in lines, bytes and time, the newest kept."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from scheduling.cluster import kube_answers
from scheduling.cluster.kube_calls import KubeCalls, NotAnsweredError, document_of
from scheduling.cluster.port import ClusterUnreachableError, LogTail

MOST_READ: Final = 64 * 1024 * 1024
"""What one read takes off a kubelet at most, whatever a pod has written."""


def read_log(
    calls: Callable[[], KubeCalls], path: str, *, tail_lines: int, most_bytes: int, timeout_s: float
) -> LogTail:
    """What the pod at `path` has written so far; `calls` makes the connection. Raises ClusterUnreachableError."""
    # One line more than asked for tells whether there was more.
    query = (("tailLines", str(tail_lines + 1)), ("limitBytes", str(MOST_READ)))
    try:
        status, parts = calls().stream(f"{path}/log", query=query, timeout_s=timeout_s, whole=True)
        if status != kube_answers.OK:
            return _none(status, parts)
        return newest(parts, tail_lines=tail_lines, most_bytes=most_bytes)
    except NotAnsweredError as error:
        raise ClusterUnreachableError(error.message) from error


def follow_log(
    calls: Callable[[], KubeCalls],
    path: str,
    *,
    tail_lines: int,
    most_bytes: int,
    timeout_s: float,
    opened: Callable[[], None],
) -> LogTail:
    """The same until the pod writes no more, or for `timeout_s`. `opened` is called once nothing can be missed any more."""
    query = (("tailLines", str(tail_lines + 1)), ("follow", "true"))
    try:
        status, parts = calls().stream(f"{path}/log", query=query, timeout_s=timeout_s, whole=False)
        if status != kube_answers.OK:
            return _none(status, parts)
        opened()
        tail = newest(parts, tail_lines=tail_lines, most_bytes=most_bytes)
        return replace(tail, broken_off=parts.broken_off)
    except NotAnsweredError as error:
        raise ClusterUnreachableError(error.message) from error


def newest(parts: Iterable[bytes], *, tail_lines: int, most_bytes: int) -> LogTail:
    """The last lines of a stream and of these the newest bytes, from the start of a line where there is one."""
    kept: deque[bytes] = deque()
    size, lines, cut = 0, 0, False
    for part in parts:
        kept.append(part)
        size, lines = size + len(part), lines + part.count(b"\n")
        while size - len(kept[0]) > most_bytes:
            size -= len(kept.popleft())
            cut = True
    data = b"".join(kept)
    if cut or len(data) > most_bytes:
        data, cut = data[-most_bytes:], True
        data = data[data.find(b"\n") + 1 :] if b"\n" in data[:-1] else data
    if lines > tail_lines:
        cut = True
    ended = data.endswith(b"\n")
    last = data.removesuffix(b"\n").split(b"\n")[-tail_lines:]
    text = b"\n".join(last).decode(errors="replace")
    return LogTail(text + "\n" if ended else text, available=True, truncated=cut)


def _none(status: int, parts: Iterable[bytes]) -> LogTail:
    """Refused, no such pod, no kubelet behind it, or nothing written yet: no log, with the server's own words."""
    words = kube_answers.message_of(document_of(b"".join(parts))) or f"HTTP {status}"
    return LogTail("", available=False, truncated=False, message=words)
