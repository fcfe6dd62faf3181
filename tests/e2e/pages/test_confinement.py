"""Processes that make pages are confined with Landlock. They can write only to the repository's folder and to a
temporary folder, and execute only fossil. The repository's settings cannot allow other programs or files."""

import contextlib
import ctypes
import shutil
import sys

import pytest

from support import mail, process, repofile
from support.browser import Browser
from support.daemon import environment
from support.process import wait_until
from support.program import unprivileged

CREATE_RULESET, ASKS_FOR_VERSION = 444, 1
NEEDS_LANDLOCK = pytest.mark.skipif(ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, ASKS_FOR_VERSION) < 1,
                                    reason="needs a kernel with Landlock")


@pytest.fixture
def project(tmp_path, fossil):
    """Returns a repository in its own folder, with the setup user `boss`."""
    path = tmp_path / "project" / "one.fossil"
    path.parent.mkdir()
    fossil.new(path)
    repofile.add_user(path, "boss", "word", "s")
    return path


@pytest.fixture
def serve(start, project):
    """Returns a function that starts a server of the repository with the given directives. This function returns the
    server and a Browser in which `boss` is logged in."""
    def begin(**pool):
        more = {name: pool.pop(name) for name in ("command",) if name in pool}
        server = start({"pages": "fossil", **pool}, http={}, repository=project, **more)
        browser = Browser(server.port)
        assert browser.log_in("/login", "boss", "word").status == 302
        return server, browser
    return begin


@pytest.fixture
def outside(tmp_path):
    path = tmp_path / "outside"
    path.mkdir()
    return path


def write_to_the_administrator(browser):
    """Sends a mail through the page /contact_admin, which runs the mail program itself instead of waiting for the
    backoffice."""
    return browser.post("/contact_admin", subject="Help", msg="Please help", **{"from": "ann@example.net", "submit": "Send"})


def set_up_mail(project, fossil, folder, **settings):
    mail.set_up(project, fossil, folder, email_admin="root@example.net", **settings)


@NEEDS_LANDLOCK
def test_a_page_executes_no_command_of_a_setting(serve, project, fossil, outside):
    set_up_mail(project, fossil, outside, email_send_method="pipe", email_send_command=f"cat >{outside}/mail")
    server, browser = serve()
    page = write_to_the_administrator(browser)
    assert "Could not open output pipe" in page.text
    server.wait_for_log("POST /contact_admin: the page could not start the program that sends its mail: add /bin/sh")
    assert not list(outside.iterdir())


@NEEDS_LANDLOCK
def test_the_log_contains_the_shells_error_if_the_mail_program_is_not_allowed(serve, project, fossil, outside):
    set_up_mail(project, fossil, outside, email_send_method="pipe", email_send_command="/bin/cat")
    server, browser = serve(**{"pages.allow_execute": "/bin/sh"})
    write_to_the_administrator(browser)
    server.wait_for_log("/bin/cat: Permission denied")


@NEEDS_LANDLOCK
def test_a_page_writes_no_file_outside(serve, project, fossil, outside):
    set_up_mail(project, fossil, outside)
    _, browser = serve()
    assert "unable to open file" in write_to_the_administrator(browser).text
    assert not list(outside.iterdir())
    for name, value in (("method", "db"), ("db", outside / "mail.db")):
        repofile.set_config(project, f"email-send-{name}", str(value))
    write_to_the_administrator(browser)
    assert not list(outside.iterdir())
    inside = project.parent / "mail"
    inside.mkdir()
    for name, value in (("method", "dir"), ("dir", inside)):
        repofile.set_config(project, f"email-send-{name}", str(value))
    write_to_the_administrator(browser)
    assert len(mail.read(inside)) == 1


@NEEDS_LANDLOCK
def test_exceptions_are_configured(serve, project, fossil, outside):
    set_up_mail(project, fossil, outside, email_send_method="pipe", email_send_command=f"cat >{outside}/mail")
    _, browser = serve(**{"pages.allow_execute": "/bin/sh, /bin/cat", "pages.allow_write": outside})
    assert "has been sent" in write_to_the_administrator(browser).text
    assert "Please help" in (outside / "mail").read_text()


def test_pages_that_are_not_confined(serve, project, fossil, outside):
    set_up_mail(project, fossil, outside, email_send_method="pipe", email_send_command=f"cat >{outside}/mail")
    _, browser = serve(**{"pages.confine": "no"})
    assert "has been sent" in write_to_the_administrator(browser).text
    assert "Please help" in (outside / "mail").read_text()


@NEEDS_LANDLOCK
def test_an_alert_about_a_post_is_sent_by_the_backoffice(serve, project, fossil, outside):
    set_up_mail(project, fossil, outside, email_send_method="pipe",
                email_send_command=f"cat >{outside}/.$$ && mv {outside}/.$$ {outside}/$$.email")
    repofile.set_config(project, "backoffice-disable", 0)
    mail.subscribe(project, "ann@example.net", "f")
    repofile.execute(project, "UPDATE user SET cap='s' WHERE login='nobody'")
    _, browser = serve(**{"backoffice": "yes", "backoffice.interval": "1s", "backoffice.lease_time": "2s", "user": None},
                       command=unprivileged())
    page = browser.post("/forumnew", title="A question", content="Why?", mimetype="text/plain", submit="Submit")
    assert page.status == 302, page.text
    wait_until(lambda: any("A question" in message["Subject"] for message in mail.read(outside)), "the mail")


@NEEDS_LANDLOCK
def test_programs_of_ext_need_an_exception(serve, tmp_path, outside):
    """The page /ext runs programs in the folder that fossil's option --extroot names. The wrapper adds this option to
    fossil's command line."""
    program = outside / "hello"
    program.write_text("#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\nhello from a program\\n'\n")
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f"#!/bin/sh\ncase $1 in http) set -- \"$@\" --extroot {outside} ;; esac\nexec fossil \"$@\"\n")
    for each in (program, wrapper):
        each.chmod(0o755)
    server, browser = serve(**{"pages.program": wrapper, "pages.allow_execute": f"/bin/sh, {shutil.which('fossil')}"})
    assert "hello from a program" not in browser.get("/ext/hello").text
    server.change(shutil.which("fossil"), f"{shutil.which('fossil')}, {outside}")
    server.reload()
    wait_until(lambda: "hello from a program" in browser.get("/ext/hello").text, "the next generation's page")


@NEEDS_LANDLOCK
def test_an_upgraded_program_is_used_at_once(serve, tmp_path):
    program = tmp_path / "fossil-of-ours"
    shutil.copy(shutil.which("fossil"), program)
    server, browser = serve(**{"pages.program": program})
    assert browser.get("/timeline").status == 200
    shutil.copy(program, tmp_path / "other")
    (tmp_path / "other").replace(program)
    assert browser.get("/timeline").status == 200
    assert "cannot start" not in server.log()


def test_unversioned_files(serve, project, fossil, tmp_path):
    (tmp_path / "manual.txt").write_text("how it works\n")
    fossil("uv", "add", tmp_path / "manual.txt", "--as", "manual.txt", "-R", project)
    _, browser = serve()
    assert "how it works" in browser.get("/uv/manual.txt").text
    assert "manual.txt" in browser.get("/uvlist").text


def temporary_folders(server):
    """Returns the value of TMPDIR of each process that makes pages."""
    folders = set()
    for starter in process.children(server.child("pages www")):
        for pid in process.children(starter):
            with contextlib.suppress(OSError):
                folders.add(environment(pid).get("TMPDIR"))
    return folders


@NEEDS_LANDLOCK
def test_the_temporary_folder_is_private_and_removed_at_the_end(serve, tmp_path):
    (tmp_path / "tmp").mkdir()
    server, _ = serve(**{"env[TMPDIR]": tmp_path / "tmp", "pages.spare_children": 1})
    [folder] = (tmp_path / "tmp").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    wait_until(lambda: temporary_folders(server) == {str(folder)}, "a process that waits for a request")
    server.stop()
    wait_until(lambda: not folder.exists(), "its removal")


# Installs a seccomp filter, so that landlock_create_ruleset() fails as on a kernel without Landlock.
WITHOUT_LANDLOCK = f"""
import ctypes, os, struct, sys
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
code = b"".join(struct.pack("HBBI", *each) for each in (
    (LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, {CREATE_RULESET}), (RETURN, 0, 0, 0x00050000 | 38), (RETURN, 0, 0, 0x7FFF0000)))
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2
assert libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and libc.prctl(SECCOMP, FILTER, program) == 0, ctypes.get_errno()
os.execvp(sys.argv[1], sys.argv[1:])
"""


def test_without_landlock_pages_are_not_confined_and_the_log_says_so(serve, project, fossil, outside):
    set_up_mail(project, fossil, outside, email_send_method="pipe", email_send_command=f"cat >{outside}/mail")
    server, browser = serve(command=[sys.executable, "-c", WITHOUT_LANDLOCK])
    server.wait_for_log("pages are not confined: this kernel does not have Landlock")
    assert "has been sent" in write_to_the_administrator(browser).text
    assert "Please help" in (outside / "mail").read_text()
