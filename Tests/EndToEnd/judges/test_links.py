"""The links of the repository's Markdown files lead to files and headings that exist."""

import pytest
from support import documentation


def test_no_link_is_broken():
    assert documentation.links()[0] == []


@pytest.mark.parametrize("link, fault", [
    ("there.md", None), ("there.md#one-or--two", None), ("#its-own", None), ("folder", None), ("doc:Anything", None),
    ("https://example.com/nothing", None), ("missing.md", "there is no file missing.md"),
    ("there.md#three", "there is no heading there.md#three"), ("#other", "there is no heading #other"),
])
def test_a_link(tmp_path, link, fault):
    (tmp_path / "folder").mkdir()
    (tmp_path / "there.md").write_text("# `One` or / two\n")
    (tmp_path / "page.md").write_text(
        f"# Its own\n\n[text]({link}) and `[code](nowhere)`\n\n```\n[code](nowhere)\n```\n")
    broken, external = documentation.links(tmp_path)
    assert broken == ([f"page.md: {fault}"] if fault else [])
    assert external.total() == link.startswith("https:")
