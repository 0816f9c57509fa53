"""What a worker does with a message whose acknowledgement the broker did not hear.

kombu (5.7) frees a message's place among the prefetched ones only after the broker has answered. Each stall of the broker that meets
an acknowledgement would so take one place for good, and after as many as the worker has places it would take no message any more,
while its connection is well again and nothing shows it.
"""

from celery.worker.request import Request
from kombu.transport.virtual import QoS


class FreeingRequest(Request):
    """A request that gives its place back whether or not the broker heard that it is done.

    The broker hands an unheard message out once more after the visibility timeout; by then it has expired.
    """

    def acknowledge(self) -> None:
        super().acknowledge()
        self._give_place_back()

    def reject(self, requeue: bool = False) -> None:
        super().reject(requeue=requeue)
        self._give_place_back()

    def _give_place_back(self) -> None:
        if not self.message.acknowledged and self.message.channel is not None:
            QoS.ack(self.message.channel.qos, self.message.delivery_tag)
