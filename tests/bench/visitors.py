#!/usr/bin/python3
"""Simulates many visitors of one page, each with its own IP address. After a 503 reply, a visitor waits for the time in
Retry-After. After any other reply, it immediately requests the page again.

    visitors.py PORT PATH COUNT SECONDS

Prints a line when the first visitor has received a page, and continues for SECONDS. At the end, prints the number of
pages and the number of 503 replies.
"""

import asyncio
import re
import sys

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
PATIENCE = 120


async def visit(port: int, path: str, address: str) -> tuple[int, float]:
    """Requests the page. Returns the status, and the seconds to wait before the next request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0), limit=1 << 20)
    try:
        # Requests with a cookie are not answered from the cache.
        writer.write(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: {AGENT}\r\nCookie: known=1\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        while await reader.read(1 << 18):
            pass
    finally:
        writer.close()
    later = re.search(rb"(?i)\r\nretry-after: (\d+)", head)
    return int(head.split()[1]), float(later[1]) if later else 0


async def be_a_visitor(port: int, path: str, number: int, counts: dict[int, int], has_begun: asyncio.Event) -> None:
    address = f"127.0.{number // 250 + 1}.{number % 250 + 1}"
    while True:
        try:
            status, pause = await visit(port, path, address)
            counts[status] = counts.get(status, 0) + 1
            if status == 200:
                has_begun.set()
        except (OSError, asyncio.IncompleteReadError):
            pause = 1
        await asyncio.sleep(pause)


async def main(port: int, path: str, count: int, seconds: float) -> None:
    counts: dict[int, int] = {}
    has_begun = asyncio.Event()
    visitors = [asyncio.create_task(be_a_visitor(port, path, number, counts, has_begun)) for number in range(count)]
    await asyncio.wait_for(has_begun.wait(), PATIENCE)
    print("they have begun", flush=True)
    await asyncio.sleep(seconds)
    for each in visitors:
        each.cancel()
    await asyncio.gather(*visitors, return_exceptions=True)
    print(f"{counts.get(200, 0)} pages, {counts.get(503, 0)} replies with 503")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
