"""What is kept of a pod's output when there is more of it than was asked for: always the newest."""

import pytest

from scheduling.cluster.kube_logs import newest


@pytest.mark.parametrize(
    ("parts", "tail_lines", "most_bytes", "want_text", "want_cut"),
    [
        ([b"one\n", b"two\n"], 5, 100, "one\ntwo\n", False),
        ([b"one\ntwo\nthree\n"], 2, 100, "two\nthree\n", True),
        ([b"one\ntw", b"o\nthree"], 5, 100, "one\ntwo\nthree", False),
        ([b"one\n", b"two\n", b"three\n"], 5, 8, "three\n", True),
        ([b"aaaa", b"bbbb", b"cccc"], 5, 6, "bbcccc", True),
        ([b"a\x85b\xe2\x80\xa8c\n"], 1, 100, "a\ufffdb\u2028c\n", False),
        ([], 5, 100, "", False),
        ([b"\n"], 5, 100, "\n", False),
    ],
    ids=[
        "all of it",
        "the last lines",
        "a last line without its end",
        "the newest bytes from the start of a line",
        "the newest bytes of one long line",
        "only a line feed ends a line",
        "nothing written",
        "an empty line",
    ],
)
def test_the_newest_lines_and_bytes_are_kept(
    parts: list[bytes], tail_lines: int, most_bytes: int, want_text: str, want_cut: bool
) -> None:
    tail = newest(iter(parts), tail_lines=tail_lines, most_bytes=most_bytes)

    assert (tail.text, tail.truncated) == (want_text, want_cut)


def test_a_stream_of_any_length_costs_what_is_kept() -> None:
    tail = newest((b"x" * 1000 + b"\n" for _ in range(10_000)), tail_lines=50_000, most_bytes=4_000)

    assert (len(tail.text), tail.truncated) == (3 * 1001, True)
