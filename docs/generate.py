"""Writes the generated parts of the documentation; `--check` only says whether they are current.

python docs/generate.py [--check]
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from click.testing import CliRunner
from conventions_page import conventions_page, table

from sqlmetrics.catalog import Catalog
from sqlmetrics.cli import main as cli
from sqlmetrics.describe import describe_metric, metric_query

ROOT = Path(__file__).resolve().parent.parent
FIVE_USERS = "-r examples/five_users/recommendations.csv -i examples/five_users/interactions.csv"
COMPARED = f"evaluate map@3 {FIVE_USERS} --convention jurity,rectools,standard"
EXPLAINED = f"explain map@3 {FIVE_USERS} --from rectools --to jurity"


def example(readme: str) -> str:
    """Run the README's own command and show its output."""
    block = re.search(r"<!-- main-job -->\n```sh\n(.*?)```", readme, re.DOTALL)
    assert block is not None
    return console(block[1].replace("\\\n", " ").partition(".venv/bin/sqlmetrics ")[2])


def console(command: str) -> str:
    """Run a command of ours, and show it with its output."""
    result = CliRunner().invoke(cli, [*shlex.split(command), "--format", "table"])
    assert result.exit_code == 0, result.output
    shown = re.sub(r"\s+", " ", command).strip()
    shown = re.sub(r" (?=-[ri] |--[a-z])", " \\\\\n    ", shown)
    return f"```console\n$ sqlmetrics {shown}\n{result.stdout.rstrip()}\n```"


def metrics_table(catalog: Catalog) -> str:
    rows = [
        [
            f"`{metric.name}`",
            metric.family,
            ", ".join(f"`{alias}`" for alias in metric.aliases),
            metric.formula,
            ", ".join(f"`{param.name}`" for param in metric.params.values()),
        ]
        for metric in catalog.metrics.values()
    ]
    return table(["metric", "family", "also", "formula", "settings of its own"], rows)


def settings_table(catalog: Catalog) -> str:
    rows = [
        [f"`{param.name}`", param.doc, param.range_text(), f"`{param.default_text()}`"]
        for param in catalog.stage_params.values()
    ]
    return table(["setting", "what it says", "values", "standard"], rows)


def metrics_page(catalog: Catalog) -> str:
    parts = [
        "# Metrics\n\n"
        "Generated from the templates by `python docs/generate.py`: "
        "what `sqlmetrics describe` says.\n"
    ]
    for name, metric in catalog.metrics.items():
        text = describe_metric(catalog, name)
        where = metric.path.relative_to(ROOT)
        text = text.replace(str(metric.path), str(where))
        head, _, query = text.partition("its query, over the stages that it reads:\n\n")
        lines = head.rstrip().splitlines()
        shared = next(
            i for i, line in enumerate(lines) if line.startswith("settings that it shares")
        )
        body = "\n".join(lines[2:shared]).rstrip()
        query = query.rstrip()
        parts.append(
            f"## {name}\n\n{metric.title}.\n\n```text\n{body}\n```\n\n```sql\n{query}\n```\n"
        )
    return "\n".join(parts)


def replaced(text: str, name: str, content: str) -> str:
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    assert pattern.search(text), name
    return pattern.sub(lambda match: f"{match[1]}{content}\n{match[2]}", text)


def with_runs(page: str) -> str:
    """Show the output of every command that a page runs: `<!-- run: COMMAND -->`."""
    return re.sub(
        r"(<!-- run: (.*?) -->\n).*?(<!-- /run -->)",
        lambda match: f"{match[1]}{console(match[2])}\n{match[3]}",
        page,
        flags=re.DOTALL,
    )


def generate() -> dict[Path, str]:
    """Return the wanted text of every file that is generated, or in part."""
    catalog = Catalog.load()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = replaced(readme, "example", example(readme))
    readme = replaced(readme, "explain", console(COMPARED) + "\n\n" + console(EXPLAINED))
    readme = replaced(readme, "metrics", metrics_table(catalog))
    readme = replaced(readme, "settings", settings_table(catalog))
    recall = metric_query(catalog, catalog.metrics["recall"])
    readme = replaced(readme, "recall", f"```sql\n{recall}\n```")
    comparing = ROOT / "docs/comparing.md"
    return {
        ROOT / "README.md": with_runs(readme),
        comparing: with_runs(comparing.read_text(encoding="utf-8")),
        ROOT / "docs/metrics.md": metrics_page(catalog),
        ROOT / "docs/conventions.md": conventions_page(catalog),
    }


def main() -> int:
    stale = []
    for path, text in generate().items():
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
