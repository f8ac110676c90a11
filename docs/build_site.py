"""Builds the documentation site strictly into the folder `site`, and checks the built pages.

python docs/build_site.py

The checks: every link and every anchor leads somewhere, and no page loads anything from another
place, so the site works without a network and from a folder.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "site"
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
NOT_LOADED = {"canonical", "next", "prev", "alternate", "edit"}  # kinds of <link>


class Page(HTMLParser):
    """The ids of a page, its links, and the addresses that it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids |= {found[name] or "" for name in ("id", "name") if name in found}
        address = found.get(LOADED.get(tag, ""))
        if address and (found.get("rel") or "") not in NOT_LOADED:
            self.loaded.append(address)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")


def broken(site: Path) -> list[str]:
    """List the links of a built site that lead nowhere, and what its pages load from elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links start at the root of a server
            continue
        where = path.relative_to(site)
        found += [f"{where} loads {address}" for address in page.loaded if "//" in address]
        for address in page.links + [one for one in page.loaded if "//" not in one]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                found.append(f"{where}: no file for {address}")
            elif parts.fragment and target in pages:
                known = pages[target].ids
                found += [f"{where}: no anchor for {address}"] * (
                    unquote(parts.fragment) not in known
                )
    return sorted(set(found))


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    # as a module, so that the folder of the project is on Python's path for docs.mathml
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=ROOT, check=False).returncode
    if built:
        return built
    problems = broken(SITE)
    print(*problems, sep="\n")
    pages = list(SITE.rglob("*.html"))
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file())
    print(f"{len(pages)} pages, {size / 1e6:.1f} MB, {len(problems)} problems")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
