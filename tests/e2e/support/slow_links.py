"""Links between network namespaces that delay packets. The kernel might not have netem, so each namespace has a TUN device,
and a thread carries the packets that are routed into one of these devices to that of their destination."""

import fcntl
import heapq
import itertools
import os
import select
import struct
import threading
import time
from pathlib import Path

DEVICE = "slow"
TUN = Path("/dev/net/tun")
TUNSETIFF = 0x400454ca
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000


class SlowLinks:
    """The delayed links between hosts with IPv4 addresses."""

    def __init__(self) -> None:
        self.delay = 0.0  # seconds in each direction
        self._devices: dict[bytes, int] = {}  # by the last byte of the host's address
        self._thread = threading.Thread(target=self._carry, name="slow links", daemon=True)
        self._stopped, self._stop = os.pipe()

    def attach(self, number: int) -> None:
        """Creates the device of the host with the address N.N.N.NUMBER in the namespace of this thread."""
        device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
        self._devices[bytes([number])] = device

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        os.close(self._stop)
        self._thread.join()
        for descriptor in (self._stopped, *self._devices.values()):
            os.close(descriptor)

    def _carry(self) -> None:
        waiting: list[tuple[float, int, bytes]] = []
        number = itertools.count()
        while True:
            pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
            readable, _, _ = select.select([self._stopped, *self._devices.values()], [], [], pause)
            if self._stopped in readable:
                return
            for device in readable:
                heapq.heappush(waiting, (time.monotonic() + self.delay, next(number), os.read(device, 65536)))
            while waiting and waiting[0][0] <= time.monotonic():
                packet = heapq.heappop(waiting)[2]
                is_ipv4 = packet[0] >> 4 == 4
                if is_ipv4 and packet[19:20] in self._devices:
                    os.write(self._devices[packet[19:20]], packet)
