"""The cache on disk belongs to one state of the kernel's files."""

from accnn.passes.scheduling.flexer.kernel import compiled
from accnn.passes.scheduling.flexer.kernel.drive import schedule_in_order


def test_entries_carry_the_digest_of_all_files():
    cache = schedule_in_order._cache
    codegen = schedule_in_order.targetctx.codegen()

    assert cache._index_key((), codegen)[-1] == compiled.DIGEST
    assert len(compiled.DIGEST) == 64


def test_the_digest_follows_the_files(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("one")
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    before = compiled._digest()
    (tmp_path / "a.py").write_text("two")

    assert compiled._digest() != before
