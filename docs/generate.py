"""Writes the generated parts of the documentation; `--check` only says whether they are current.

python docs/generate.py [--tables] [--check]

`--tables`: in seconds, only tables and lists: no pages of metrics, no output of commands.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from click.testing import CliRunner
from conventions_page import (
    convention_page,
    conventions_table,
    five_users,
    meaning,
    table,
)
from dialects_page import dialects_page
from metric_pages import families, metric_pages
from options_page import options_page
from template_names_page import template_names_page

from sqlmetrics.cli.commands import main as cli
from sqlmetrics.describe.conventions import all_settings, choices
from sqlmetrics.describe.metric import metric_query
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import conventions
from sqlmetrics.metrics.front_matter import LEVELS

ROOT = Path(__file__).resolve().parent.parent
SIDE_BY_SIDE = "reference/conventions/side-by-side.md"


def _runs(page: str) -> bool:
    """Return whether commands or Python of a page run."""
    return re.search(r"<!-- (run|prints|shown)\b", page) is not None


PAGES = [  # by their path in docs
    page.relative_to(ROOT / "docs").as_posix()
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if _runs(page.read_text(encoding="utf-8"))
]


def example(readme: str) -> str:
    """Run the README's own command and show its output."""
    block = re.search(r"<!-- main-job -->\n```sh\n(.*?)```", readme, re.DOTALL)
    assert block is not None
    command = block[1].replace("\\\n", " ").partition(".venv/bin/sqlmetrics ")[2]
    return console(command, with_messages=True)


def console(command: str, exit_code: int = 0, with_messages: bool = False) -> str:
    """Run a command of ours, and show it with its output, as a table unless it says otherwise.

    `COMMAND | FILTER`: with what the filter, a command of the shell, leaves of it. Of a command
    that fails, its messages are shown too. `with_messages`: those of any command are.
    """
    ours, _, filtered = command.partition(" | ")
    arguments = shlex.split(ours)
    if arguments[0] != "sql" and "--format" not in arguments:
        arguments += ["--format", "table"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == exit_code, result.output
    output = result.output if exit_code or with_messages else result.stdout
    if filtered:
        output = subprocess.run(
            ["bash", "-c", filtered], input=output, capture_output=True, text=True, check=True
        ).stdout
        assert output.strip(), f"nothing passes the filter of: {command}"
    shown = re.sub(r"\s+", " ", ours).strip()
    shown = re.sub(r" (?=-[ri] |--[a-z])", " \\\\\n    ", shown)
    shown += f" | {filtered}" if filtered else ""
    status = f"\n$ echo $?\n{exit_code}" if exit_code else ""
    return f"```console\n$ sqlmetrics {shown}\n{output.rstrip()}{status}\n```"


def with_settings(page: str, catalog: Catalog) -> str:
    """Fill in the tables of settings, `<!-- settings: NAME, … -->`; each belongs to one of them."""
    left = dict(catalog.stage_params)

    def filled(match: re.Match[str]) -> str:
        rows = []
        for name in match[2].split(", "):
            param = left.pop(name)
            values = "" if "\n" in param.doc and param.choices else f"<br>{param.range_text()}"
            rows.append([f"`{name}`", meaning(param) + values, f"`{param.default_text()}`"])
        return f"{match[1]}{table(['setting', 'meaning', 'default'], rows)}\n{match[3]}"

    pattern = r"(<!-- settings: (.*?) -->\n).*?(<!-- /settings -->)"
    page = re.sub(pattern, filled, page, flags=re.DOTALL)
    assert not left, f"settings that answer no question of docs/reference/settings.md: {[*left]}"
    return page


def _by_family(catalog: Catalog) -> Iterator[str]:
    for title, metrics in families(catalog).items():
        pages = [f'{{ "{metric.name}" = "metrics/{metric.name}.md" }}' for metric in metrics]
        yield f'{{ "{title.partition(":")[0]}" = [{", ".join(pages)}] }}'


def navigation(catalog: Catalog) -> str:
    """Return zensical.toml with an entry for every metric and convention."""
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    entries = {
        "metrics": list(_by_family(catalog)),
        "conventions": [
            '"reference/conventions/side-by-side.md"',
            *(
                f'{{ "{name}" = "reference/conventions/{name}.md" }}'
                for name in conventions()
                if name != "standard"
            ),
        ],
    }
    for mark, pages in entries.items():
        text = re.sub(
            rf"( *)# <{mark}>\n.*?( *# </{mark}>)",
            lambda match, mark=mark, pages=pages: (
                "".join(
                    f"{match[1]}{line}\n"
                    for line in [f"# <{mark}>", *(f"{page}," for page in pages)]
                )
                + match[2]
            ),
            text,
            flags=re.DOTALL,
        )
    return text


def text_of(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def checks_table(catalog: Catalog) -> str:
    rows = [
        [f"`{check.name}`", check.level, check.title, ", ".join(f"`{n}`" for n in check.needs)]
        for check in sorted(catalog.checks.values(), key=lambda one: LEVELS.index(one.level))
        if check.needs
    ]
    return table(["check", "level", "finding", "required tables"], rows)


def slices_table(catalog: Catalog) -> str:
    divided = {"users": "users", "items": "relevant items", "interactions": "relevant items"}
    rows = [
        [
            f"`{one.name}`",
            divided[one.of],
            one.title,
            f"`{one.missing}`",
            "<br>".join(
                f"`{param.name}={param.default_text()}`: {meaning(param)}"
                for param in one.params.values()
            ),
        ]
        for one in catalog.slices.values()
    ]
    return table(["slice", "divides", "by", "without a value", "settings"], rows)


def replaced(text: str, name: str, content: str) -> str:
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    assert pattern.search(text), name
    return pattern.sub(lambda match: f"{match[1]}{content}\n{match[2]}", text)


def with_runs(page: str) -> str:
    """Show the output of every command that a page runs: `<!-- run: COMMAND -->`.

    `<!-- run, exit 2: COMMAND -->` is one that fails. `<!-- shown: PATH -->` shows a file.
    """
    page = re.sub(
        r"(<!-- shown: (\S+) -->\n)(?:```.*?```\n)?(<!-- /shown -->)",
        lambda match: f"{match[1]}```text\n{(ROOT / match[2]).read_text('utf-8')}```\n{match[3]}",
        page,
        flags=re.DOTALL,
    )
    return re.sub(
        r"(<!-- run(?:, exit (\d))?: (.*?) -->\n).*?(<!-- /run -->)",
        lambda match: f"{match[1]}{console(match[3], int(match[2] or 0))}\n{match[4]}",
        page,
        flags=re.DOTALL,
    )


def with_prints(page: str) -> str:
    """Run the Python of a page, block after block, and show what each prints below it.

    Blocks marked `<!-- file: PATH -->` are files that the Python reads.
    """
    names: dict[str, object] = {}

    def shown(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), pd.option_context("display.width", 100):
            exec(match[1], names)
        text = "\n".join(line.rstrip() for line in printed.getvalue().rstrip().splitlines())
        below = f"\n<!-- prints -->\n```text\n{text}\n```\n<!-- /prints -->\n" if text else ""
        return f"```python\n{match[1]}```\n{below}"

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("examples").symlink_to(ROOT / "examples")
        for name, content in re.findall(
            r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", page, flags=re.DOTALL
        ):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(content, encoding="utf-8")
        return re.sub(
            r"```python\n(.*?)```\n(\n<!-- prints -->\n.*?<!-- /prints -->\n)?",
            shown,
            page,
            flags=re.DOTALL,
        )


def tables(catalog: Catalog) -> dict[Path, str]:
    """Return the wanted text of the files whose generated parts are only tables and lists.

    The output of commands and Python stays as it is.
    """
    pages, known = {name: text_of(name) for name in PAGES}, all_settings(catalog)
    for name, mark, content in (
        ("reference/checks.md", "checks", checks_table(catalog)),
        ("how-to/slices.md", "slices", slices_table(catalog)),
        ("reference/conventions/README.md", "conventions", conventions_table(catalog)),
    ):
        pages[name] = replaced(pages.get(name) or text_of(name), mark, content)
    pages["reference/settings.md"] = with_settings(text_of("reference/settings.md"), catalog)
    for settings in known[1:]:
        name = f"reference/conventions/{settings.convention.name}.md"
        pages[name] = convention_page(catalog, settings)
    return {
        **{ROOT / "docs" / name: page for name, page in pages.items()},
        ROOT / "zensical.toml": navigation(catalog),
        ROOT / "docs/reference/options.md": options_page(),
        ROOT / "docs/reference/dialects.md": dialects_page(catalog, table),
        ROOT / "docs/reference/template-names.md": template_names_page(table),
    }


def generate() -> dict[Path, str]:
    """Return the wanted text of every file that is generated, or in part; it takes minutes."""
    catalog = Catalog.load()
    known = all_settings(catalog)
    chosen = {name: choices(catalog, name, known) for name in catalog.metrics}
    files = tables(catalog)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = replaced(readme, "example", example(readme))
    recall = metric_query(catalog, catalog.metrics["recall"])
    readme = replaced(readme, "recall", f"```sql\n{recall}\n```")
    side_by_side = text_of(SIDE_BY_SIDE)
    for mark, content in five_users().items():
        side_by_side = replaced(side_by_side, mark, content)
    run = {path: with_prints(with_runs(text)) for path, text in files.items() if _runs(text)}
    return {
        ROOT / "README.md": readme,
        **files,
        **run,
        **metric_pages(catalog, known, chosen),
        ROOT / "docs" / SIDE_BY_SIDE: side_by_side,
    }


def main() -> int:
    stale = []
    wanted = tables(Catalog.load()) if "--tables" in sys.argv else generate()
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    for path in stale:
        print(
            f"{path.relative_to(ROOT)} {'is not current' if '--check' in sys.argv else 'renewed'}"
        )
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
