"""One URL for both halves: nginx sends syncs to Quarry and everything else to fossil's own pages."""

import http.client

import pytest

import proof
from support import repofile
from support.fossil import Checkout


def page(server, path):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", path)
    response = connection.getresponse()
    text = response.read().decode(errors="replace")
    connection.close()
    return response.status, text


@pytest.fixture
def server(launch, fresh):
    if launch.kind != "nginx":
        pytest.skip("only nginx has two halves")
    repofile.set_config(fresh, "project-name", "two halves")
    return launch(fresh, web_pages=True)


def test_sync_and_pages_on_one_url(server, fresh, fossil, tmp_path):
    clone = tmp_path / "clone.fossil"
    fossil.clone(server.url_for("writer", "pen"), clone)
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout.write("a.txt", "a\n")
    checkout("add", "a.txt")
    checkout.commit("seen on the timeline")
    checkout("push")

    status, text = page(server, "/timeline")
    assert status == 200 and "seen on the timeline" in text and "<html" in text
    status, text = page(server, "/raw?ci=trunk&filename=a.txt")
    assert status == 200 and text == "a\n"
    status, text = page(server, "/info/" + checkout.head())
    assert status == 200 and "a.txt" in text

    # And syncs still go to Quarry after pages were shown.
    checkout.write("a.txt", "b\n")
    checkout.commit("another")
    checkout("sync")
    assert repofile.artifacts(clone) == repofile.artifacts(fresh)
    proof.check(fresh, fossil)


def test_the_sync_half_is_quarrys(server, fresh, fossil, tmp_path):
    """With fossil's pages gone, syncs go on and pages are a bad gateway."""
    for pages in server.beside:
        pages.stop()
    fossil.clone(server.url, tmp_path / "clone.fossil")
    assert page(server, "/timeline")[0] in (502, 504)
