"""Disturbs the hosts: cuts and delays links, kills and stops processes, fills disks, and deletes the files of a host. The
sequence of disturbances depends only on the seed and the length of the run."""

import contextlib
import os
import random
import shutil
import signal
import threading
from collections.abc import Callable

from history import History, Isolation, Loss
from support import program
from support.cluster import Cluster, Host
from support.disk import empty, fill_up
from support.process import wait_until

#: Seconds for which a disturbance lasts. JetStream elects a new leader after 4 to 9 seconds.
DURATION = (2.0, 12.0)
#: In runs of at least LONG_RUN seconds, every tenth disturbance lasts longer than the leases of 30 seconds.
LONG_DURATION = (35.0, 50.0)
LONG_RUN = 300
DELAY = (0.05, 1.5)
PAUSE = (1.0, 8.0)


class Nemesis:
    def __init__(self, seed: int, seconds: float, cluster: Cluster, history: History):
        self.is_long_run = seconds >= LONG_RUN
        self.choices = random.Random(f"{seed} nemesis")
        self.cluster, self.history = cluster, history
        self.begun: dict[int, float] = {}  # hosts that cannot reach a quorum, and since when
        self.stopped: list[int] = []
        self.heals: list[Callable[[], None]] = []
        self.kinds = [self.cut, self.cut_outgoing, self.cut_incoming, self.cut_one_link, self.kill_nats, self.kill_quarryd,
                      self.kill_replica, self.stop_nats, self.stop_quarryd, self.stop_replica, self.fill_disk]
        if len(cluster.hosts) > 1:
            self.kinds += [self.lose_files] + ([self.slow_down] if cluster.slow_links else [])

    def run(self, stopping: threading.Event) -> None:
        while not stopping.wait(self.choices.uniform(*PAUSE)):
            count = min(self.choices.choice([1, 1, 2]), len(self.cluster.hosts))
            kinds = self.choices.choices(self.kinds, k=count)
            if self.lose_files in kinds:
                kinds = [self.lose_files]  # only the loss of a single host must not lose changes
            for host, kind in zip(self.choices.sample(self.cluster.hosts, len(kinds)), kinds):
                self.history.note(f"{kind.__name__} host {host.number}")
                kind(host)
            self.note_isolated()
            is_long = self.choices.random() < 0.1 and self.is_long_run
            stopping.wait(self.choices.uniform(*(LONG_DURATION if is_long else DURATION)))
            self.heal()

    def heal(self) -> None:
        now = self.history.now()
        self.history.isolations += [Isolation(host, begin, now) for host, begin in self.begun.items()]
        self.begun = {}
        self.history.note("heal")
        while self.heals:
            self.heals.pop()()
        self.cluster.mend()

    def note_isolated(self) -> None:
        """Remembers the hosts whose nats-server cannot reach a majority in at least one direction."""
        now = self.history.now()
        for host in self.cluster.hosts:
            reached = [other for other in self.cluster.hosts if other.nats.is_running() and other.nats.pid not in self.stopped
                       and other.number not in host.is_cut_from and host.number not in other.is_cut_from]
            if host not in reached or len(reached) <= len(self.cluster.hosts) // 2:
                self.begun[host.number] = now

    def cut(self, host: Host) -> None:
        self.cluster.isolate(host.number)

    def cut_outgoing(self, host: Host) -> None:
        self.cluster.isolate(host.number, incoming=False)

    def cut_incoming(self, host: Host) -> None:
        self.cluster.isolate(host.number, outgoing=False)

    def cut_one_link(self, host: Host) -> None:
        host.cut(self.choices.sample(host.others, min(1, len(host.others))), cluster=self.cluster)

    def slow_down(self, host: Host) -> None:
        self.cluster.slow_down(host.number, self.choices.uniform(*DELAY))

    def kill_nats(self, host: Host) -> None:
        host.kill_nats()
        self.heals.append(host.start_nats)

    def kill_quarryd(self, host: Host) -> None:
        self.history.crashes.append(self.history.now())
        host.kill_quarryd()
        self.heals.append(host.start_quarryd)

    def kill_replica(self, host: Host) -> None:
        """Kills quarry-replica, which the master restarts."""
        self._signal(host.replica(), signal.SIGKILL)

    def stop_nats(self, host: Host) -> None:
        self._stop(host.nats.pid)

    def stop_quarryd(self, host: Host) -> None:
        for pid in host.processes():
            self._stop(pid)

    def stop_replica(self, host: Host) -> None:
        self._stop(host.replica())

    def _stop(self, pid: int) -> None:
        self._signal(pid, signal.SIGSTOP)
        self.stopped.append(pid)

        def go_on() -> None:
            self.stopped.remove(pid)
            self._signal(pid, signal.SIGCONT)
        self.heals.append(go_on)

    def _signal(self, pid: int, number: int) -> None:
        if pid != 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def fill_disk(self, host: Host) -> None:
        self.history.crashes.append(self.history.now())
        fill_up(host.folder)

        def make_space() -> None:
            empty(host.folder)
            self.history.crashes.append(self.history.now())
            # nats-server disables JetStream when the disk is full, and enables it again only at its start.
            if host.nats.is_running():
                host.kill_nats()
                host.start_nats()
        self.heals.append(make_space)

    def lose_files(self, host: Host) -> None:
        """Deletes the repository, the stream and the state of HOST. Later the host joins again, as quarry-cluster(7)
        describes."""
        begin = self.history.now()
        if not host.publish():
            return self.history.note(f"host {host.number} keeps its files, because it cannot publish its changes")

        def join() -> None:
            wait_until(lambda: host.status().get("connected"), f"the connection of {host.name}")
            program.succeeds("replica", "join", "--config", host.folder / "quarryd.conf")
            self.history.losses.append(Loss(host.number, begin, self.history.now()))
        self.heals.append(join)  # runs after the programs have started, because heal() goes backwards
        self.kill_quarryd(host)
        self.kill_nats(host)
        for path in (host.folder / "nats", host.folder / "replica", *host.repository.parent.iterdir()):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
