"""What a worker does with a message whose acknowledgement the broker did not hear: it says it again until it is heard.

kombu (5.7) frees a message's place among the prefetched ones only after the broker has answered, and celery says it once. Each stall of
the broker that meets an acknowledgement would so take one place for good, and after as many as the worker has places it would take no
message any more, while its connection is well again and nothing shows it. Where the connection itself is lost there is nobody to tell:
the worker gets a new one with all its places, and the broker hands the message out once more after the visibility timeout, expired.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from celery.worker.request import Request
from kombu.asynchronous import get_event_loop

AGAIN_S = 1.0


class InsistentRequest(Request):
    """A request that says that it is done until the broker hears it, from the worker's own event loop."""

    def acknowledge(self) -> None:
        super().acknowledge()
        self._again_unless_heard(self.message.ack)

    def reject(self, requeue: bool = False) -> None:
        super().reject(requeue=requeue)
        self._again_unless_heard(partial(self.message.reject, requeue=requeue))

    def _again_unless_heard(self, say: Callable[[], Any]) -> None:
        hub = get_event_loop()
        if hub is not None and not self.message.acknowledged and self._is_connected():
            hub.call_later(AGAIN_S, self._say_again, say)

    def _say_again(self, say: Callable[[], Any]) -> None:
        if not self._is_connected():
            return
        try:
            say()
        except self.message.channel.connection.connection_errors:
            self._again_unless_heard(say)

    def _is_connected(self) -> bool:
        channel = self.message.channel
        return channel is not None and not channel.closed and getattr(channel.connection, "client", None) is not None
