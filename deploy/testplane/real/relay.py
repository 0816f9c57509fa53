"""`python -m testplane.real.relay ADDRESS PORT`: what pods send to this port of the machine reaches the same port of its loopback.

The platform's pages listen on loopback alone; pods of real nodes report to it by way of the test network.
"""

import asyncio
import contextlib
import sys

from berth.localstack.ports import LOOPBACK


async def main(address: str, port: int) -> None:
    server = await asyncio.start_server(lambda reader, writer: _join(reader, writer, port), address, port)
    async with server:
        await server.serve_forever()


async def _join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    try:
        inner_reader, inner_writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
