"""`quarry spool` with damaged, removed and replaced files."""

import os
import shutil
import signal
import subprocess

import pytest

from support.process import wait_until
from support.spool import Spool, damage, following, lines


def test_damaged_file_is_reported_set_aside_and_can_be_replayed(spool):
    spool("feed", "--maxfilesize", "2k", given=lines(1, 300))
    segment = spool.segments()[1]
    damage(segment, 500, 0x10)
    done = spool.run("drain")
    assert done.returncode == 0
    got = done.stdout.splitlines()
    assert segment.name in done.stderr.decode() and "damaged" in done.stderr.decode()
    assert got[0] == b"line 1" and got[-1] == b"line 300" and len(got) < 300
    assert spool.status()["damaged"] == [segment.name + ".damaged"]
    spool("replay")
    replayed = spool("drain").splitlines()
    assert len(set(got) | set(replayed)) == 299 and not set(got) & set(replayed)
    assert spool.status()["damaged"] == []


def test_ignored_damage_is_reported_and_the_file_deleted(spool):
    spool("feed", "--maxfilesize", "2k", given=lines(1, 300))
    segment = spool.segments()[1]
    damage(segment, 500, 0x10)
    done = spool.run("drain", "--oncorruption", "ignore")
    assert done.returncode == 0 and segment.name in done.stderr.decode() and "damaged" in done.stderr.decode()
    assert done.stdout.endswith(b"line 300\n") and done.stdout != lines(1, 300)
    assert spool.status()["damaged"] == [] and not spool.segments()
    assert "must be safe or ignore" in spool.refused("drain", "--oncorruption", "inmemory")


def test_a_truncated_last_message_is_reported(spool):
    spool("feed", given=lines(1, 3))
    segment = spool.segments()[-1]
    os.truncate(segment, segment.stat().st_size - 5)
    said = f"{segment.name}: the last message is incomplete"
    for command in ("list", "export", "status", "replay", "drain"):
        done = spool.run(command)
        assert done.returncode == 0 and done.stderr.decode().count(said) == 1, command
    assert done.stdout == lines(1, 2)
    assert not spool.segments()


@pytest.mark.parametrize("size", [0, 33])
def test_a_file_that_is_shorter_than_the_read_part_is_reported(spool, size):
    spool("feed", given=lines(1, 3))
    segment, = spool.segments()
    acks, acknowledge = os.pipe()
    with spool.start("drain", "--ack", acks, pass_fds=[acks], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as drain:
        os.close(acks)
        os.write(acknowledge, b"1\n")
        os.close(acknowledge)
        assert drain.communicate(timeout=60)[0] == lines(1, 3)
    os.truncate(segment, size)
    done = spool.run("drain")
    assert done.returncode == 0 and not done.stdout
    assert f"{segment.name}: the file was read up to offset" in done.stderr.decode()
    assert spool.status()["damaged"] == [segment.name + ".damaged"]


@pytest.mark.parametrize("lose", [os.unlink, lambda path: damage(path, 40)], ids=["removed", "damaged"])
def test_feeder_does_not_wait_for_a_lost_position(spool, tmp_path, lose):
    out = tmp_path / "out"
    with following(spool, out, stderr=subprocess.DEVNULL):
        spool("feed", given=lines(1, 20))
        wait_until(lambda: out.read_bytes() == lines(1, 20), "what was fed")
        position = spool.folder / "queue.qi"
        wait_until(position.exists, "the drain to save its position")
        lose(position)
        spool("feed", "--size", 5, given=lines(21, 40))
        wait_until(lambda: out.read_bytes() == lines(1, 40), "the rest")


def test_queue_in_memory_fails_when_its_folder_is_removed(spool, tmp_path):
    reported = tmp_path / "reported"
    with reported.open("wb") as errors, spool.start("feed", "--size", 20, "--highwatermark", 5, "--lowwatermark", 1,
                                                stdin=subprocess.PIPE, stderr=errors) as feeder:
        feeder.stdin.write(lines(1, 10))
        feeder.stdin.flush()
        wait_until(lambda: spool.folder.exists() and spool.segments(), "the disk queue")
        shutil.rmtree(spool.folder)
        feeder.stdin.write(lines(11, 60))
        feeder.stdin.close()
        assert feeder.wait(60) == 1
    assert "was removed" in reported.read_text()


def test_missing_and_unusable_folders(spool, tmp_path):
    assert "No such file or directory" in spool.refused("status")
    spool.folder = tmp_path / "no" / "spool"
    assert "No such file or directory" in spool.refused("feed", given=b"x\n")
    (tmp_path / "file").write_text("")
    spool.folder = tmp_path / "file"
    assert "Not a directory" in spool.refused("feed", given=b"x\n")


def remove(folder):
    shutil.rmtree(folder)


def replace(folder):
    folder.rename(folder.with_name("moved"))
    folder.mkdir()


def remove_segments(folder):
    for segment in folder.glob("queue.0*"):
        segment.unlink()


@pytest.mark.parametrize(("change", "given"), [
    (remove, b""), (replace, lines(101, 200)), (remove_segments, lines(101, 200)), (remove_segments, b"")],
    ids=["removed", "replaced", "no segments, and more lines", "no segments"])
def test_feeder_whose_files_are_removed_reports_lost_lines(spool, change, given):
    feeder = spool.start("feed", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    feeder.stdin.write(lines(1, 100))
    feeder.stdin.flush()
    wait_until(lambda: spool.folder.exists() and spool.status()["messages"] == 100, "the lines")
    # The feeder is stopped during the change, so that it does not check the files before all of them are removed.
    feeder.send_signal(signal.SIGSTOP)
    change(spool.folder)
    feeder.send_signal(signal.SIGCONT)
    reported = feeder.communicate(given, timeout=60)[1].decode()
    assert feeder.returncode == 1 and "was removed" in reported
    # The feeder continues to read lines only if the folder itself is unchanged.
    expected = "were not stored" if given and change is remove_segments else "100 messages could not be saved"
    assert expected in reported, reported
    assert not list(spool.folder.glob("queue.0*")) if change is not remove else not spool.folder.exists()


@pytest.mark.parametrize("change", [remove, replace])
def test_idle_feeder_notices_that_its_folder_is_gone(spool, change):
    with spool.start("feed", stdin=subprocess.PIPE, stderr=subprocess.PIPE) as feeder:
        feeder.stdin.write(lines(1, 100))
        feeder.stdin.flush()
        wait_until(lambda: spool.folder.exists() and spool.status()["messages"] == 100, "the lines")
        # The feeder is stopped during the change. Otherwise, it could save its lines in files that are about to be
        # removed.
        feeder.send_signal(signal.SIGSTOP)
        change(spool.folder)
        feeder.send_signal(signal.SIGCONT)
        assert feeder.wait(60) == 1
        reported = feeder.stderr.read().decode()
        feeder.stdin.close()
    assert "was removed" in reported and "100 messages could not be saved" in reported


@pytest.mark.parametrize(("change", "said"), [
    (remove, "spool: No such file or directory"), (replace, "spool: the folder was removed, moved or replaced")],
    ids=["removed", "replaced"])
def test_drain_fails_when_its_folder_is_removed_or_replaced(spool, tmp_path, change, said):
    spool("feed", given=lines(1, 100))
    out, reported = tmp_path / "out", tmp_path / "reported"
    with reported.open("wb") as errors, following(spool, out, stderr=errors) as drain:
        wait_until(lambda: spool.status()["messages"] == 0, "that all are drained")
        change(spool.folder)
        assert drain.wait(60) == 1
    assert said in reported.read_text()
    assert out.read_bytes() == lines(1, 100)


def test_drain_does_not_delete_files_of_a_folder_that_replaced_its_own(spool):
    spool("feed", given=lines(1, 100))
    drain = spool.start("drain", "--follow", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: spool.status()["messages"] == 0, "that all are drained")
    other = Spool(spool.folder.with_name("other"))
    other("feed", given=lines(1, 50))
    drain.send_signal(signal.SIGSTOP)
    spool.folder.rename(spool.folder.with_name("moved"))
    other.folder.rename(spool.folder)
    drain.terminate()
    drain.send_signal(signal.SIGCONT)
    drain.wait(60)
    assert spool("drain") == lines(1, 50)


def test_other_queues_in_the_folder_and_other_folders_are_left_alone(spool):
    spool("feed", "--filename", "queue.b", "--maxfilesize", "2k", given=lines(1, 300))
    segment = sorted(spool.folder.glob("queue.b.0*"))[0]
    damage(segment, 500)
    spool("drain", "--filename", "queue.b")
    assert spool.status()["damaged"] == []
    spool("replay")
    assert (spool.folder / (segment.name + ".damaged")).exists()
    for name in ("../queue", ""):
        done = spool.run("purge", "--filename", name)
        assert done.returncode == 2 and b"must be a name without a folder" in done.stderr


def test_pipe_instead_of_a_file_blocks_no_command(spool):
    spool.folder.mkdir()
    os.mkfifo(spool.folder / "queue.00000001")
    for command in ("status", "drain", "export"):
        assert "queue.00000001: not a regular file" in spool.refused(command)
