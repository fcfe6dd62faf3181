"""What `quarry spool` makes of files that are not as it left them."""

import os
import subprocess

from support.process import wait_until
from support.spool import Spool, damage, lines


def test_damage_is_told_set_aside_and_what_is_behind_it_can_be_replayed(spool):
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


def test_segment_with_a_damaged_header_gives_all_of_its_messages_to_a_replay(spool):
    spool("feed", "--maxfilesize", "2k", given=lines(1, 300))
    segment = spool.segments()[1]
    damage(segment, 20)
    got = spool("drain").splitlines()
    assert spool.status()["damaged"] == [segment.name + ".damaged"]
    done = spool.run("replay")
    assert done.returncode == 0
    replayed = spool("drain").splitlines()
    assert f"{segment}.damaged: {len(replayed)} messages were found though its header is damaged" in done.stderr.decode()
    assert done.stdout == b"%d messages are in the queue again\n" % len(replayed)
    assert len(replayed) > 50 and sorted(got + replayed) == sorted(lines(1, 300).splitlines())
    assert spool.status()["damaged"] == []


def test_folder_that_cannot_be_written_and_one_that_is_not_there(spool, tmp_path):
    assert "No such file or directory" in spool.refused("status")
    spool.folder = tmp_path / "no" / "spool"
    assert "No such file or directory" in spool.refused("feed", given=b"x\n")
    (tmp_path / "file").write_text("")
    spool.folder = tmp_path / "file"
    assert "Not a directory" in spool.refused("feed", given=b"x\n")


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


def test_a_page_of_zeros_does_not_hide_what_is_behind_it(spool):
    spool("feed", given=lines(1, 30000))
    segment = spool.segments()[0]
    with segment.open("r+b") as file:
        file.seek(20 * 4096)
        file.write(bytes(4096))
    first = spool.run("drain").stdout.splitlines()
    spool("replay")
    rest = spool("drain").splitlines()
    assert len(first) + len(rest) > 29500 and len(set(first) | set(rest)) == len(first) + len(rest)


def test_position_of_another_queue_hides_nothing(spool, tmp_path):
    spool("feed", given=lines(1, 50))
    other = Spool(tmp_path / "other")
    other("feed", "--maxfilesize", "1k", given=lines(1, 500))
    drain = other.start("drain", "--follow", stdout=subprocess.PIPE)
    wait_until(lambda: other.status()["messages"] == 0, "that all are drained", 20)
    drain.kill()
    drain.communicate()
    (spool.folder / "queue.qi").write_bytes((other.folder / "queue.qi").read_bytes())
    assert spool.status()["messages"] == 50 and spool("export") == lines(1, 50)
    assert spool("drain") == lines(1, 50)


def test_pipe_in_the_place_of_a_file_holds_up_nobody(spool):
    spool.folder.mkdir()
    os.mkfifo(spool.folder / "queue.00000001")
    for command in ("status", "drain", "export"):
        assert "queue.00000001: no file" in spool.refused(command)
