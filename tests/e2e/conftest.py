"""Fixtures and command-line options of the end-to-end tests."""

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import generator
from support import places, repofile, servers
from support.daemon import Daemon
from support.client import Quarry
from support.fossil import Fossil
from support.pool import PAGES, Pool
from support.process import wait_until
from support.quickstart import Quickstart
from support.servers import Launcher
from support.spool import Spool
from support.wire import Peer

pytest.register_assert_rewrite("proof")

# A shell that starts the tests in the background makes them ignore SIGINT. The programs that the tests start must not
# inherit this setting.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run what takes long, too")
    parser.addoption("--peer", choices=[*servers.KINDS, "apache", "fossil"],
                     help="one kind of server only; `fossil` is for writing tests, not for judging Quarry")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes long; only with --full")
    config.addinivalue_line("markers", "every_server: through each kind of server, also without --full")
    config.addinivalue_line("markers", "ours(reason): something that `fossil server` does not do as we do")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server_kind" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--peer")
        is_every = metafunc.config.getoption("--full") or metafunc.definition.get_closest_marker("every_server")
        kinds = [chosen] if chosen else list(servers.KINDS if is_every else servers.KINDS[:1])
        metafunc.parametrize("server_kind", kinds, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not config.getoption("--full"):
            item.add_marker(pytest.mark.skip(reason="slow: only with --full"))
        if item.get_closest_marker("ours") and config.getoption("--peer") == "fossil":
            item.add_marker(pytest.mark.skip(reason="fossil server does otherwise"))


@pytest.fixture(scope="module")
def server_kind(request: pytest.FixtureRequest) -> str:
    """The kind of server. Because this is a separate fixture with module scope, pytest runs all tests of a file with
    one kind of server before it uses the next kind."""
    return request.param


@pytest.fixture(scope="session")
def fossil(tmp_path_factory: pytest.TempPathFactory) -> Fossil:
    return Fossil(tmp_path_factory.mktemp("home"))


@contextlib.contextmanager
def launcher(kind: str, folder: Path, fossil: Fossil) -> Iterator[Launcher]:
    made = Launcher(kind, folder, fossil)
    yield made
    made.stop_all()


@pytest.fixture
def launch(server_kind: str, tmp_path: Path, fossil: Fossil) -> Iterator[Launcher]:
    """Returns a function that serves a repository. Each test runs once with each kind of server."""
    with launcher(server_kind, tmp_path, fossil) as made:
        yield made


@pytest.fixture
def launch_gateway(tmp_path: Path, fossil: Fossil) -> Iterator[Launcher]:
    """Works like `launch`, but only with our gateway, for tests that do not depend on the front."""
    with launcher("gateway", tmp_path, fossil) as made:
        yield made


@pytest.fixture
def launch_fossil(tmp_path: Path, fossil: Fossil) -> Iterator[Launcher]:
    """Works like `launch`, but with `fossil server`, for tests of our client."""
    with launcher("fossil", tmp_path, fossil) as made:
        yield made


@pytest.fixture(params=["gateway", "fossil"])
def serve(request: pytest.FixtureRequest, tmp_path: Path, fossil: Fossil) -> Iterator[Launcher]:
    """Returns a function that serves a repository to our client. Each test runs once with quarryd and once with
    fossil."""
    with launcher(request.param, tmp_path, fossil) as made:
        yield made


@pytest.fixture
def quickstart(tmp_path: Path, open_folder: Path, fossil: Fossil) -> Iterator[Quickstart]:
    start = Quickstart(tmp_path, open_folder, fossil)
    yield start
    start.stop_all()


@pytest.fixture
def quarry(tmp_path: Path, fossil: Fossil) -> Quarry:
    return Quarry(tmp_path / "quarry", fossil.environment)


@pytest.fixture(scope="module")
def launch_shared(server_kind: str, tmp_path_factory: pytest.TempPathFactory, fossil: Fossil) -> Iterator[Launcher]:
    """Works like `launch`, for servers that all tests of a file share."""
    with launcher(server_kind, tmp_path_factory.mktemp("shared"), fossil) as made:
        yield made


def kept_or_built(variable: str, tmp_path_factory: pytest.TempPathFactory, build: Callable[[Path], None]) -> Path:
    """Returns a generated repository, and builds it if it does not exist. The environment variable VARIABLE names a
    file in which the repository is kept for later runs. Concurrent test processes share one file."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    path = Path(os.environ.get(variable) or shared / f"{variable.lower()}.fossil")
    with (shared / f"{variable.lower()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            build(unfinished)
            unfinished.rename(path)
    return path


@pytest.fixture(scope="session")
def generated_original(tmp_path_factory: pytest.TempPathFactory, fossil: Fossil) -> Path:
    """The large generated repository, built once. Tests must not write to it."""
    return kept_or_built("QUARRY_GENERATED", tmp_path_factory, lambda path: generator.build(path, fossil))


@pytest.fixture(scope="session")
def small_original(tmp_path_factory: pytest.TempPathFactory, fossil: Fossil) -> Path:
    """The small generated repository without the large file. The repository has 60 imported check-ins and the part of
    the history that is made by commands."""
    return kept_or_built("QUARRY_GENERATED_SMALL", tmp_path_factory,
                         lambda path: generator.build(path, fossil, check_ins=60, binary_size=0))


@pytest.fixture
def generated(generated_original: Path, tmp_path: Path) -> Path:
    """A copy of the large generated repository. The test can change it."""
    return repofile.copy(generated_original, tmp_path / "generated.fossil")


@pytest.fixture
def small(small_original: Path, tmp_path: Path) -> Path:
    return repofile.copy(small_original, tmp_path / "small.fossil")


@pytest.fixture
def hiredis(tmp_path: Path) -> Path:
    """A copy of a real repository from the optional corpus."""
    path = places.corpus("hiredis.fossil")
    if path is None:
        pytest.skip("no hiredis.fossil in $QUARRY_CORPUS or ../shared/data")
    return repofile.copy(path, tmp_path / "hiredis.fossil")


@pytest.fixture
def fresh(fossil: Fossil, tmp_path: Path) -> Path:
    """A new repository with a user `writer`. The user has the password `pen` and all capabilities except
    administration."""
    path = fossil.new(tmp_path / "fresh.fossil", "--project-name", "fresh")
    repofile.add_user(path, "writer", "pen", "giox")
    return path


@pytest.fixture
def start(tmp_path: Path, fresh: Path, fossil: Fossil) -> Iterator[Callable[..., Daemon]]:
    """Returns a function that starts quarryd with the test's own directives (see Daemon). The function waits until
    quarryd is ready unless WAIT is false."""
    started = []

    def make(pool: dict[str, object] | None = None, *, wait: bool = True, repository: Path = fresh,
             env: dict[str, str] | None = None, **more: object) -> Daemon:
        started.append(Daemon(tmp_path / f"daemon-{len(started)}", repository, pool,
                              env={**fossil.environment, **(env or {})}, **more))
        return started[-1].wait_until_ready() if wait else started[-1]

    yield make
    for each in started:
        each.stop()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that all users can access, unlike pytest's own folder."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o777)
    yield path
    # Retry, because a background process of the last command can still add and remove files.
    wait_until(lambda: shutil.rmtree(path, ignore_errors=True) or not path.exists(), f"{path} is removed")


@pytest.fixture(autouse=True)
def tidy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Removes the files of a passed test immediately, because copies of large repositories need much space."""
    yield
    if not getattr(request.node, "failed", False):
        shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    outcome = yield
    if outcome.get_result().failed:
        item.failed = True


@pytest.fixture
def start_pool(tmp_path: Path, fresh: Path, fossil: Fossil) -> Iterator[Callable[..., Pool]]:
    """Returns a function that serves the repository `fresh` with a status page. The arguments of this function are
    directives."""
    started = []

    def begin(pool: dict[str, object] | None = None) -> Pool:
        started.append(Pool(tmp_path / "pool", fresh, PAGES if pool is None else pool, env=fossil.environment))
        return started[-1]
    yield begin
    for pool in started:
        assert pool.main.is_running(), f"quarryd died:\n{pool.log()[-3000:]}"
        pool.stop()


@pytest.fixture
def peer_of(fossil: Fossil):
    """Returns a function that creates a hand-written client of a served repository. The client logs in as a new
    user."""
    def make(server: servers.Server, login: str = "hand", capabilities: str = "giox", repository: Path | None = None,
             path: str = "/") -> Peer:
        file = repository or server.target
        secret = repofile.add_user(file, login, "written", capabilities) if login else ""
        return Peer(server.port, path, login, secret, repofile.project_code(file))
    return make


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")
