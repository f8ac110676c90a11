"""Write the page of results."""

from __future__ import annotations

from .registry import BY_NAME, KINDS, REFERENCE
from .results import Cell, Results, ratios

_TITLES = {"rank": "lists with ranks", "score": "lists with scores"}


def page(results: Results) -> str:
    """Return the page in Markdown."""
    parts = [
        "# sqlmetrics compared with other systems",
        "",
        "Written by `python -m benchmarks.peers`; see [README.md](README.md) for the method.",
        "Multiples refer to sqlmetrics with checks: 2.00 is twice as much.",
        "",
        f"{results.machine}, {results.date}",
        "",
        "![seconds against rows](plots/wall.svg)",
        "",
        "![memory against rows](plots/memory.svg)",
        "",
        *_versions(results),
    ]
    for size in results.sizes:
        for kind in KINDS:
            cells = [c for c in results.cells if (c.rows, c.kind) == (size.asked, kind)]
            if cells:
                counts = f"{size.rows:,} rows, {size.users:,} users, {size.hits:,} hits"
                parts += [f"## {size.asked:,}: {_TITLES[kind]}", "", f"{counts}", ""]
                parts += _table(results, cells)
    return "\n".join(parts)


def _versions(results: Results) -> list[str]:
    lines = ["| system | version | duplicate items |", "|---|---|---|"]
    for name, version in results.versions.items():
        lines.append(f"| {BY_NAME[name].title} | {version} | {BY_NAME[name].repeats} |")
    return [*lines, ""]


def _table(results: Results, cells: list[Cell]) -> list[str]:
    """Return the table of one size and kind, fastest first; systems without results are last."""
    lines = [
        "| system | s | CPU s | peak MB | × s | × CPU | × memory | runs |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for cell in sorted(cells, key=lambda c: c.cost.wall if c.cost else float("inf")):
        lines.append(f"| {BY_NAME[cell.system].title} | {' | '.join(_fields(results, cell))} |")
    return [*lines, ""]


def _fields(results: Results, cell: Cell) -> list[str]:
    if cell.cost is None:
        said = f"{cell.outcome}: {cell.detail}" if cell.detail else cell.outcome
        return [said, "", "", "", "", "", ""]
    cost = cell.cost
    reference = results.cell(cell.rows, cell.kind, REFERENCE)
    multiples = ["", "", ""]
    if reference and reference.cost:
        multiples = [f"{ratio:.2f}" for ratio in ratios(cost, reference.cost)]
    memory = f"{cost.memory / 1e6:.0f}"
    return [f"{cost.wall:.2f}", f"{cost.cpu:.2f}", memory, *multiples, str(cell.runs)]
