"""A link between two network namespaces that delays packets and loses some: two TUN devices with this program between.

It does what `tc qdisc add ... netem` does, on kernels without that. It runs until it is ended.

Usage: wide-link.py NAMESPACE DEVICE NAMESPACE DEVICE DELAY_MS LOSS_PERCENT
"""

import collections
import ctypes
import fcntl
import os
import random
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
MOST_BYTES = 65536
libc = ctypes.CDLL(None, use_errno=True)


def open_device(namespace: str, name: str) -> int:
    """Opens a new TUN device in a namespace; this process stays in the last one."""
    inside = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(inside, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    os.close(inside)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def main() -> None:
    one, one_name, other, other_name, delay_ms, loss = sys.argv[1:]
    ends = [open_device(one, one_name), open_device(other, other_name)]
    delay, lost = float(delay_ms) / 1000, float(loss) / 100
    # Packets on their way, in the order in which they arrive: the delay is the same for all.
    waiting = collections.deque()
    print("open", flush=True)
    while True:
        due = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        readable, _, _ = select.select(ends, [], [], due)
        for end in readable:
            to = ends[1 - ends.index(end)]
            # What came at once; the rest is read after what is due was sent.
            for _ in range(64):
                try:
                    packet = os.read(end, MOST_BYTES)
                except (BlockingIOError, OSError):
                    break
                if random.random() >= lost:
                    waiting.append((time.monotonic() + delay, to, packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, to, packet = waiting.popleft()
            try:
                os.write(to, packet)
            except OSError:
                # The device is down: such a packet is lost too.
                pass


main()
