"""What tests look at in a problem document."""

from typing import Any


def wrong_fields(answer: Any) -> dict[str, str]:
    """Field → code of every wrong field of a 400."""
    assert answer.status_code == 400, answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    return {found["field"]: found["code"] for found in answer.json()["errors"]}


def code_of(answer: Any) -> tuple[int, str]:
    """Status and stable code."""
    return answer.status_code, answer.json()["code"]
