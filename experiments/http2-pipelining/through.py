"""Runs h2load through a proxy that delays, and holds up what it is told to lose.

    python3 through.py PORT RTT_MS LOST_PER_1000 REQUESTS h1|h2 IN_FLIGHT

What is lost holds up what follows in its direction for 200 ms, which is what a retransmission
takes at least (RFC 6298 asks for a second, Linux takes a fifth of that). Which is lost, a fixed
seed decides."""
import asyncio
import contextlib
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

SEGMENT = 1448
RETRANSMISSION = 0.2


class Line:
    """One direction: every byte arrives half a round trip after it was sent, in order."""

    def __init__(self, proxy, seed):
        self.proxy, self.random, self.bytes, self.segments, self.free = proxy, random.Random(seed), 0, 0, 0.0

    async def carry(self, reader, writer):
        loop, queue = asyncio.get_running_loop(), asyncio.Queue()

        async def deliver():
            while (item := await queue.get()) is not None:
                due, data = item
                await asyncio.sleep(max(0, due - loop.time()))
                writer.write(data)
                await writer.drain()
                self.proxy.last = time.monotonic_ns()
            writer.close()

        delivery = asyncio.create_task(deliver())
        while data := await reader.read(SEGMENT):
            self.bytes += len(data)
            self.segments += 1
            due = loop.time() + self.proxy.delay
            if self.random.randrange(1000) < self.proxy.lost:
                due += RETRANSMISSION
            self.free = max(self.free, due)
            queue.put_nowait((self.free, data))
        queue.put_nowait(None)
        await delivery


class Proxy:
    def __init__(self, port, rtt, lost):
        self.port, self.delay, self.lost = port, rtt / 2000, lost
        self.up, self.down = Line(self, 1), Line(self, 2)
        self.first = self.last = 0

    async def connected(self, reader, writer):
        self.first = self.first or time.monotonic_ns()
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.port)
        # Whatever is still under way when everything was answered is no longer wanted.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(self.up.carry(reader, to_writer), self.down.carry(to_reader, writer))


async def main(port, rtt, lost, requests, protocol, in_flight):
    proxy = Proxy(port, rtt, lost)
    server = await asyncio.start_server(proxy.connected, "127.0.0.1", 0)
    own = server.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        uris, log = os.path.join(folder, "uris"), os.path.join(folder, "log")
        with open(uris, "w") as file:
            file.writelines("http://127.0.0.1:%d/%d\n" % (own, n) for n in range(100))
        arguments = ["h2load", "-c", "1", "-t", "1", "-n", str(requests), "-m", str(in_flight), "-i", uris,
                     "--log-file", log] + (["--h1"] if protocol == "h1" else [])
        client = await asyncio.create_subprocess_exec(*arguments, stdout=subprocess.PIPE)
        text, _ = await client.communicate()
        with open(log) as file:
            times = [int(line.split("\t")[2]) for line in file]
    if client.returncode or b" %d succeeded, 0 failed" % requests not in text:
        sys.exit("not all requests succeeded:\n" + text.decode())
    print("all-nanoseconds", proxy.last - proxy.first)
    print("sent-bytes", proxy.up.bytes)
    print("received-bytes", proxy.down.bytes)
    print("client-wake-ups", resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw)
    for microseconds in times:
        print("request-nanoseconds", microseconds * 1000)
    print(requests, "requests answered")


port, rtt, lost, requests, protocol, in_flight = sys.argv[1:]
asyncio.run(main(int(port), int(rtt), int(lost), int(requests), protocol, int(in_flight)))
