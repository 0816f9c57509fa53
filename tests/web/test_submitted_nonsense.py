"""Whatever stands in the submit form's fields, hidden ones too, and in its YAML: the page says what is wrong."""

from typing import Any

import pytest
from django.test import Client

from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
NINES = "9" * 5000
YAML = {
    "text times number": "roles: [{replicas: 10000000000, resources: {gpu: abc}}]",
    "binary": "a: !!binary aGVsbG8=",
    "set": "a: !!set {b, c}",
    "timestamp tag": "a: !!timestamp 2026-01-01",
    "python tag": "a: !!python/object/apply:os.getcwd []",
    "hexadecimal": f"a: 0x{'f' * 5000}",
    "decimal": f"priority: {NINES}",
    "float beyond all": "priority: 1.0e+999",
    "infinity": "priority: .inf",
    "not a number": "roles: [{replicas: .nan}]",
    "int that is none": "priority: !!int abc",
    "no int at all": 'priority: !!int ""',
    "bool that is none": "a: !!bool maybe",
    "list as map": "a: !!map [b]",
    "map as list": "a: !!seq {b: c}",
    "list as int": "a: !!int [1]",
    "list as text": "a: !!str [1]",
    "half a pair": 'labels: {a: "\\ud83d"}',
    "half a pair as name": 'name: "\\ud800"',
    "half a pair as key": '"\\ud800": 1',
    "nul": 'name: "\\0"',
    "alias": "a: &a [1]\nb: *a",
    "merge": "a: {<<: {b: 1}}",
    "list as key": "{[1]: 2}",
    "twice": "name: a\nname: b",
    "deep": "[" * 10_000,
    "deep blocks": "a: " + '{"a": ' * 200 + "1" + "}" * 200,
    "nothing": "",
    "a word": "word",
    "a list": "[1, 2]",
    "number as tenant": "tenant: 5\nqueue: {a: 1}\nroles: 7",
    "no roles": "roles: [1, null, []]",
}
FORM: dict[str, dict[str, str]] = {
    **{f"{name} of nines": {name: NINES} for name in ("gpu", "cpu", "memory", "replicas", "priority", "max_restarts")},
    **{
        f"{name} of 400 nines": {name: "9" * 400} for name in ("expected_runtime", "max_runtime", "checkpoint_interval")
    },
    "days of nines": {"expected_runtime": f"{NINES} d"},
    "exponent": {"gpu": "1e400", "cpu": "-1e400", "memory": "+inf"},
    "deep rest": {"rest": "[" * 100_000},
    "deeper rest": {"rest": '{"a": ' * 50_000},
    "rest of 500 levels": {"rest": '{"a": ' * 500 + "1" + "}" * 500},
    "rest with half a pair": {"rest": '{"name": "\\ud800"}'},
    "rest with infinity": {"rest": '{"a": Infinity}'},
    "rest of nines": {"rest": f'{{"a": {NINES}}}'},
    "rest is a list": {"rest": "[1]"},
    "quote": {"command": "'", "env": "=\n=", "labels": "a"},
}


def answer_of(client: Client, world: World, path: str, fields: dict[str, str]) -> Any:
    client.force_login(world.member)
    client.raise_request_exception = False
    asked = {"queue": f"{world.tenant.slug}/{world.queue.name}", "replicas": "1", "gpu": "1", "name": "a", **fields}
    return client.post(path, asked)


@pytest.mark.parametrize("text", YAML.values(), ids=YAML)
def test_yaml_that_no_job_is_says_what_is_wrong(client: Client, text: str) -> None:
    world = a_world()

    for path, face in (
        ("/submit/preview/", {}),
        ("/submit/", {}),
        ("/submit/", {"face": "form"}),
        ("/submit/", {"face": "yaml"}),
    ):
        answer = answer_of(client, world, path, {"shown": "yaml", "yaml": text, **face})

        assert answer.status_code == 200
        if not face:
            assert answer.context["problems"]


@pytest.mark.parametrize("fields", FORM.values(), ids=FORM)
def test_a_form_that_no_job_is_says_what_is_wrong(client: Client, fields: dict[str, str]) -> None:
    world = a_world()

    for path, face in (("/submit/preview/", {}), ("/submit/", {}), ("/submit/", {"face": "yaml"})):
        answer = answer_of(client, world, path, {"shown": "form", **fields, **face})

        assert answer.status_code == 200


def test_a_form_whose_hidden_part_is_lost_keeps_what_was_typed(client: Client) -> None:
    answer = answer_of(client, a_world(), "/submit/", {"shown": "form", "rest": "[", "name": "kept-name"})

    assert "kept-name" in answer.content.decode()
    assert "could not be read" in answer.content.decode()


@pytest.mark.parametrize("number", ["9" * 4200, NINES, "²", "٣", "-1", "1e5", "abc"])
def test_a_clone_of_what_is_no_number_of_a_job_is_not_found(client: Client, number: str) -> None:
    world = a_world()
    client.force_login(world.member)

    assert client.get("/submit/", {"clone": number}).status_code == 404
    assert answer_of(client, world, "/submit/", {"shown": "form", "clone": number}).status_code == 404
