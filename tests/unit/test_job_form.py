"""The submit form as a face of a body: what it shows is written back, what it does not show is not lost."""

import json

import pytest
from django.http import QueryDict

from scheduling.views.job_form import anchor_of, body_of_form, fields_of

BODY = {
    "tenant": "algo-a",
    "queue": "prod",
    "name": "llm-pretrain",
    "tier": "production",
    "roles": [
        {
            "name": "worker",
            "replicas": 4,
            "min_replicas": 4,
            "resources": {"gpu": 8, "flavors": ["a100-80g"], "cpu": 64, "memory": 512},
            "image": "registry.example/train:1",
            "command": ["python", "train.py", "--name", "a b"],
            "env": {"LR": "1e-4"},
        },
        {"name": "evaluator", "replicas": 1, "image": "registry.example/eval:1"},
    ],
    "topology": {"mode": "required", "level": "rack"},
    "max_runtime": 86_400,
    "checkpoint": {"path": "/ckpt", "interval": 300},
    "datasets": ["imagenet"],
    "labels": {"project": "x"},
}


def sent(body: dict[str, object], **changes: str) -> QueryDict:
    form = QueryDict(mutable=True)
    form.update({**fields_of(body), "rest": json.dumps(body), **changes})
    return form


def test_a_body_goes_through_the_form_unchanged() -> None:
    assert body_of_form(sent(BODY)) == BODY


def test_only_what_the_form_shows_is_replaced() -> None:
    body = body_of_form(sent(BODY, replicas="8", max_runtime="", flavor=""))

    assert body["roles"][0]["replicas"] == 8
    assert body["roles"][0]["min_replicas"] == 8
    assert "flavors" not in body["roles"][0]["resources"]
    assert "max_runtime" not in body
    assert body["roles"][1] == BODY["roles"][1]  # type: ignore[index]
    assert body["datasets"] == ["imagenet"]


@pytest.mark.parametrize(
    ("typed", "want"),
    [("2", 2), ("", 4), ("two", "two")],
    ids=["a smallest size", "the full size alone", "nonsense goes on to be refused"],
)
def test_a_smallest_size_is_typed_beside_the_full_one(typed: str, want: int | str) -> None:
    """SCH-10."""
    body = body_of_form(sent(BODY, min_replicas=typed))

    assert body["roles"][0]["min_replicas"] == want


@pytest.mark.parametrize(
    ("text", "want"),
    [("10 h", 36_000), ("90min", 5400), ("1.5 h", 5400), ("2小时", 7200), ("3600", 3600), ("soon", "soon")],
)
def test_durations_are_typed_as_people_say_them(text: str, want: int | str) -> None:
    assert body_of_form(sent(BODY, max_runtime=text))["max_runtime"] == want


def test_what_is_no_number_is_passed_on_to_be_refused_by_name() -> None:
    assert body_of_form(sent(BODY, replicas="many"))["roles"][0]["replicas"] == "many"


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("roles[0].resources.gpu", "field-gpu"),
        ("roles[0].env.LR", "field-env"),
        ("tenant", "field-queue"),
        ("roles[1].image", "face"),
        ("body", "face"),
    ],
)
def test_a_problem_leads_to_its_field(path: str, want: str) -> None:
    assert anchor_of(path) == want
