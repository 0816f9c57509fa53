"""A program's output as it is shown: nothing in it can act on the reader's screen."""

import pytest

from berth.common.texts import without_controls


@pytest.mark.parametrize(
    ("output", "want"),
    [
        ("plain\nlines\n", "plain\nlines\n"),
        ("\x1b[1;31merror\x1b[0m", "error"),
        ("\x1b]0;a title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link", "link"),
        ("\x1b]never ended\nnext", "\nnext"),
        (" 1%\r 50%\r100%\r\nnext", "100%\nnext"),
        ("bell\x07 nul\x00 c1\x9b31m", "bell nul c131m"),
        ("left\u202eright\u2066", "leftright"),
        ("tab\tstays, 训练 too \U0001f469\u200d\U0001f4bb", "tab\tstays, 训练 too \U0001f469\u200d\U0001f4bb"),
    ],
)
def test_controls_are_taken_out_and_words_stay(output: str, want: str) -> None:
    """W18, W36."""
    assert without_controls(output) == want
