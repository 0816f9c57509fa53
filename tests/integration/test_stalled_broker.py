"""A broker that stalls while a worker says that a message is done: the worker goes on taking messages afterwards (F13, F14)."""

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from celery.utils.imports import symbol_by_name
from kombu import Connection, Consumer, Message
from kombu.asynchronous import Hub, get_event_loop, set_event_loop

from berth.localstack import valkey
from berth.localstack.children import Children
from berth.localstack.ports import free_port

PLACES = 2
"""Messages that the worker may hold at a time."""
TASK = "billing.refresh_drafts"

Answer = Callable[[Any], None]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[tuple[Connection, Callable[[signal.Signals], None]]]:
    """A connection as workers make it to a server of its own, and the way to stop that server and let it go on."""
    address = valkey.new_address(free_port())
    children = Children(tmp_path / "notes.json")
    children.start(valkey.server(address, tmp_path, tmp_path / "valkey.log"))
    try:
        valkey.wait_until_ready(
            address.url, tmp_path / "valkey.log", lambda: children.ended_with(valkey.NAME) is not None
        )
        with closing(current_app.connection_for_read(address.url)) as connection:
            yield connection, lambda sent: children.send(valkey.NAME, sent)
    finally:
        children.send(valkey.NAME, signal.SIGCONT)
        children.stop()


ANSWERS = pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda request: request.acknowledge(), id="done"),
        pytest.param(lambda request: request.reject(), id="thrown away"),
        pytest.param(lambda request: request.reject(requeue=True), id="given back"),
    ],
)


def request_for(message: Message, connection: Connection) -> Any:
    """What the worker makes of a message that it took."""
    return symbol_by_name(current_app.Task.Request)(
        message, on_ack=message.ack_log_error, on_reject=message.reject_log_error, app=current_app,
        task=current_app.tasks[TASK], connection_errors=connection.connection_errors,
    )  # fmt: skip


@pytest.fixture
def hub() -> Iterator[Hub]:
    """The worker's event loop; who tests it lets its timers fire."""
    before = get_event_loop()
    made = Hub()
    set_event_loop(made)
    yield made
    set_event_loop(before)


@ANSWERS
def test_a_worker_takes_messages_after_more_stalls_than_it_has_places(
    hub: Hub, broker: tuple[Connection, Callable[[signal.Signals], None]], answer: Answer
) -> None:
    connection, send = broker
    current_app.loader.import_default_modules()
    taken: list[Message] = []
    with Consumer(
        connection, [current_app.amqp.queues["celery"]], on_message=taken.append, prefetch_count=PLACES, accept=["json"]
    ):
        for stall in range(1, PLACES + 2):
            current_app.send_task(TASK, connection=connection)
            while len(taken) < stall:
                connection.drain_events(timeout=10)
            request = request_for(taken[-1], connection)
            send(signal.SIGSTOP)
            answer(request)
            fire(hub)
            assert not taken[-1].acknowledged, "the broker heard it all the same"
            send(signal.SIGCONT)
            while not taken[-1].acknowledged:
                fire(hub)


def timers(hub: Hub) -> list[Any]:
    return [each.entry for each in hub.timer.queue if not each.entry.cancelled]


def fire(hub: Hub) -> None:
    """Lets the one timer that was set run now."""
    [timer] = timers(hub)
    timer.cancel()
    timer()


@ANSWERS
def test_work_that_ends_after_its_connection_was_lost_is_not_told_to_anybody(
    hub: Hub, broker: tuple[Connection, Callable[[signal.Signals], None]], answer: Answer
) -> None:
    """The worker has another connection by then, with all its places; the message comes again and has expired."""
    connection, send = broker
    current_app.loader.import_default_modules()
    taken: list[Message] = []
    queues = [current_app.amqp.queues["celery"]]
    with Consumer(connection, queues, on_message=taken.append, prefetch_count=PLACES, accept=["json"]):
        current_app.send_task(TASK, connection=connection)
        while not taken:
            connection.drain_events(timeout=10)
        request = request_for(taken[0], connection)
        send(signal.SIGSTOP)
        answer(request)
        send(signal.SIGCONT)
    connection.collect()

    fire(hub)

    assert (timers(hub), taken[0].acknowledged) == ([], False)
