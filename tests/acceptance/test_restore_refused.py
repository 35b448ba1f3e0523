"""A restore that is refused, in a process of its own."""

from tests.acceptance.instance import Instance


def test_a_refused_restore_leaves_no_new_data_folder_behind(tmp_path):
    (tmp_path / "no-backup").write_text("Words.")
    instance = Instance(tmp_path / "data")
    for given in ("missing", "no-backup"):
        ended = instance.run("restore", str(tmp_path / given))
        assert ended.returncode == 1, ended.stderr
        assert not (tmp_path / "data").exists()


def test_a_refused_restore_leaves_a_folder_that_was_there(tmp_path):
    (tmp_path / "data").mkdir()
    assert Instance(tmp_path / "data").run("restore", str(tmp_path / "missing")).returncode == 1
    assert (tmp_path / "data").exists()
