"""Clients that work with random hosts at the same time, with the stock fossil and with web pages."""

import hashlib
import http.client
import random
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from history import History, Operation
from support import program, repofile
from support.browser import Browser, Page
from support.cluster import Cluster, Host
from support.fossil import Checkout, Fossil, FossilFailed

PASSWORD = "pen"
#: The branch on which only change sets land.
BRANCH = "landed"
ADMINISTRATOR = "boss"
#: Settings that hosts exchange, and that do not change how fossil works.
SETTINGS = ("sitemap-extra", "keep-glob", "ignore-glob", "clean-glob", "binary-glob")

#: The output of a sync without errors. After many errors, fossil exits with 0.
FAULTLESS = re.compile(r"(\*{5} WARNING: a fork has occurred \*{5}\s.*\s+)?(Round-trips: .*\s+)?"
                       r"\w* ?done, wire bytes sent: [1-9]\d* +received: [1-9]\d* +remote: \S+\s*")


def prepare(repository: Path, clients: int) -> None:
    """Adds the users of the clients to REPOSITORY."""
    for number in range(clients):
        repofile.add_user(repository, f"client{number}", PASSWORD, "cefghijkmnorwyz")
    repofile.add_user(repository, ADMINISTRATOR, PASSWORD, "s")


class Client(threading.Thread):
    """A client with its own clone and checkout. All choices depend only on SEED and the number of the operation.
    KINDS limits the operations, unless it is empty."""

    def __init__(self, number: int, seed: int, kinds: list[str], cluster: Cluster, fossil: Fossil, folder: Path, history: History):
        super().__init__(name=f"client{number}")
        self.seed, self.cluster, self.fossil, self.history = seed, cluster, fossil, history
        self.folder = folder
        (folder / "set").mkdir()
        (folder / "password").write_text(PASSWORD)
        self.clone = fossil.clone(self._url(cluster.hosts[0]), folder / "clone.fossil")
        self.checkout = Checkout(fossil, self.clone, folder / "work")
        self.is_stopping = threading.Event()
        self.failure: BaseException | None = None
        self.acknowledged = repofile.artifacts(self.clone)
        self.made: dict[str, float] = {}
        self.tickets: list[str] = []
        self.last_second = 0
        self.kinds: dict[Callable[[Operation, Host, random.Random], None], int] = {
            self.commit: 8, self.change_set: 4, self.wiki: 2, self.ticket: 3, self.push: 2, self.pull: 3, self.unversioned: 3, self.setting: 2,
            self.user: 1, self.capabilities: 1, self.interwiki: 1, self.page_user: 1, self.page_wiki: 1, self.page_interwiki: 1}
        if kinds:
            self.kinds = {kind: weight for kind, weight in self.kinds.items() if kind.__name__ in kinds}

    def _url(self, host: Host) -> str:
        return host.url_for(self.name, PASSWORD)

    def run(self) -> None:
        try:
            number = 0
            while not self.is_stopping.is_set():
                number += 1
                self._operate(number, random.Random(f"{self.seed} {self.name} {number}"))
        except BaseException as failure:  # the main thread raises it
            self.failure = failure

    def _operate(self, number: int, choices: random.Random) -> None:
        work = choices.choices(list(self.kinds), list(self.kinds.values()))[0]
        host = choices.choice(self.cluster.hosts)
        operation = Operation(self.name, number, work.__name__, host.number, self.history.now())
        try:
            work(operation, host, choices)
            operation.is_acknowledged = True
        except FossilFailed as failed:
            operation.message = " ".join(failed.output.split())[-200:]
        except subprocess.TimeoutExpired:
            operation.message = "timeout"
        except (OSError, http.client.HTTPException) as failed:
            operation.message = " ".join(str(failed).split())
        operation.end = self.history.now()
        self.history.add(operation)
        # Wait longer after a failure. Otherwise, failures on a host that is down would fill the history.
        self.is_stopping.wait(choices.uniform(0, 0.3 if operation.is_acknowledged else 2))

    # Operations that make artifacts in the clone and push them.

    def _local(self, make: Callable[[], object]) -> None:
        """Calls MAKE, which changes the clone, and remembers which artifacts it made, and when."""
        before, begin = repofile.artifacts(self.clone), self.history.now()
        try:
            make()
        finally:
            self.made |= dict.fromkeys(repofile.artifacts(self.clone) - before, begin)

    def push(self, operation: Operation, host: Host, _: random.Random | None = None) -> None:
        """An acknowledged push guarantees all artifacts of the clone, because the host then has all of them."""
        names = repofile.artifacts(self.clone) - self.acknowledged
        operation.facts = {("artifact", name) for name in names}
        operation.made = {name: self.made[name] for name in names if name in self.made}
        self._sync("push", self._url(host), "--once", "-R", self.clone)
        self.acknowledged |= names

    def _sync(self, *arguments: object) -> None:
        status, output = self.fossil.attempt(*arguments)
        if status != 0 or not FAULTLESS.fullmatch(output):
            raise FossilFailed([str(word) for word in arguments], status, output)

    def pull(self, _: Operation, host: Host, choices: random.Random) -> None:
        self._sync("pull", self._url(host), "--once", "-R", self.clone)
        if choices.random() < 0.5:
            self.checkout("update", "trunk")

    def commit(self, operation: Operation, host: Host, choices: random.Random) -> None:
        name = choices.choice(["shared.txt", f"{self.name}.txt", f"{self.name}-{choices.randrange(100)}.txt"])
        path = self.checkout.folder / name
        text = (path.read_text() if path.exists() else "") + f"{self.name} {operation.number}\n"
        if choices.random() < 0.1:
            text += choices.randbytes(30_000).hex() + "\n"
        branch = ["--branch", f"{self.name}-{operation.number}"] if choices.random() < 0.05 else []
        self._local(lambda: self.checkout.commit_file(name, text, f"{self.name} {operation.number}", "--allow-fork", *branch))
        self.push(operation, host)

    def wiki(self, operation: Operation, host: Host, choices: random.Random) -> None:
        page, text = f"Page{choices.randrange(5)}", self.folder / "page"
        text.write_text(f"{self.name} {operation.number}\n")
        verb = "commit" if page in self.fossil("wiki", "list", "-R", self.clone).split() else "create"
        self._local(lambda: self.fossil("wiki", verb, page, text, "-R", self.clone))
        self.push(operation, host)

    def ticket(self, operation: Operation, host: Host, choices: random.Random) -> None:
        title = f"{self.name} {operation.number}"
        if self.tickets and choices.random() < 0.6:
            changed = ["set", choices.choice(self.tickets), "status", choices.choice(["Open", "Fixed"])]
        else:
            changed = ["add", "title", title]

        def change() -> None:
            output = self.fossil("ticket", *changed, "comment", title, "-R", self.clone)
            self.tickets += re.findall(r"add succeeded for (\w+)", output)
        self._local(change)
        self.push(operation, host)

    def unversioned(self, operation: Operation, host: Host, choices: random.Random) -> None:
        """Only this client writes its files. Each change has its own second, because fossil compares these times."""
        name, content = f"{self.name}/{choices.randrange(3)}", f"{self.name} {operation.number}\n".encode()
        self.last_second = max(int(time.time()), self.last_second + 1)
        when = ["--mtime", time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.last_second)), "-R", self.clone]
        if choices.random() < 0.25:
            operation.unversioned[name] = None
            self.fossil("unversioned", "remove", name, *when)
        else:
            (self.folder / "file").write_bytes(content)
            operation.unversioned[name] = hashlib.sha3_256(content).hexdigest()
            self.fossil("unversioned", "add", self.folder / "file", "--as", name, *when)
        self._sync("unversioned", "sync", self._url(host), "-R", self.clone)

    def change_set(self, operation: Operation, host: Host, choices: random.Random) -> None:
        name = choices.choice(["set.txt", f"{self.name}.txt"])
        (self.folder / "set" / name).write_text(f"{self.name} {operation.number}\n")
        done = program.quarry("submit", "--to", host.url, "--user", self.name, "--password-file", self.folder / "password", "--target", BRANCH,
                              "--comment", f"change set {self.name} {operation.number}", "--wait", "--timeout", 30, name,
                              cwd=self.folder / "set")
        landed = re.search(r" landed as (\w+)", done.stdout)
        if done.returncode != 0 or not landed:
            raise OSError(done.stdout + done.stderr)
        operation.facts = {("artifact", landed[1])}

    # Operations with fossil on a host's file.

    def setting(self, _: Operation, host: Host, choices: random.Random) -> None:
        self.fossil("settings", choices.choice(SETTINGS), f"value{choices.randrange(1000)}", "-R", host.repository)

    def user(self, operation: Operation, host: Host, _: random.Random) -> None:
        login = f"{self.name}-user{operation.number}"
        operation.is_promised = False
        self.fossil("user", "new", login, "contact", "word", "-R", host.repository)
        operation.facts = {("user", login)}

    def capabilities(self, _: Operation, host: Host, choices: random.Random) -> None:
        self.fossil("user", "capabilities", "reader", "".join(choices.sample("ghjkoprw", 4)), "-R", host.repository)

    def interwiki(self, operation: Operation, host: Host, _: random.Random) -> None:
        operation.is_promised = False
        tag = f"{self.name}x{operation.number}"
        self.fossil("interwiki", "edit", tag, "--base", "http://example.org/", "-R", host.repository)
        operation.facts = {("setting", f"interwiki:{tag}")}

    # Operations with web pages.

    def _administrator(self, host: Host) -> Browser:
        browser = host.browser()
        self._expect(302, browser.log_in("/login", ADMINISTRATOR, PASSWORD))
        return browser

    def _expect(self, status: int, page: Page) -> None:
        if page.status != status:
            raise OSError(f"status {page.status}: {page.text[:200]}")

    def page_user(self, operation: Operation, host: Host, _: random.Random) -> None:
        login = f"{self.name}-page{operation.number}"
        self._expect(302, self._administrator(host).submit("/setup_uedit?id=0", id="0", login=login, info="", pw="word", ae="on",
                                                           apply="Apply Changes"))
        operation.facts = {("user", login)}

    def page_interwiki(self, operation: Operation, host: Host, _: random.Random) -> None:
        tag = f"{self.name}y{operation.number}"
        self._expect(200, self._administrator(host).submit("/intermap", tag=tag, base="http://example.org/", submit="Apply Changes"))
        operation.facts = {("setting", f"interwiki:{tag}")}

    def page_wiki(self, operation: Operation, host: Host, _: random.Random) -> None:
        title = f"{self.name}-page{operation.number}"
        self._expect(200, self._administrator(host).post("/wikiajax/save", page=title, content="text", mimetype="text/plain", isnew="1"))
        operation.facts = {("wiki", title)}
