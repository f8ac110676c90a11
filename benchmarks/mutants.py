"""How many small mistakes in the code the tests find: one token is changed, and the tests run.

    python benchmarks/mutants.py --n 60 --seed 1

changes, one after the other, `n` tokens that a seed draws in `sqlmetrics/plan`, `sqlmetrics/sql`
and `sql_templates` (a comparison, an operator, AND for OR, a number, the kind of a join, the
direction of an order), runs the tests in a clone of the checkout until one fails, and prints for
each change which test found it. A change that no test finds either changes nothing that counts, or
is a gap in the tests. The checkout itself stays as it is; what is not committed is not tested.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ["sqlmetrics/plan", "sqlmetrics/sql", "sql_templates"]
TESTS = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2"]
# the folders whose tests find most changes, then all tests
PARTS = [["tests/metrics", "tests/by_hand", "tests/plan", "tests/checks"], []]
OF_PYTHON = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "and": "or",
    "or": "and", "True": "False", "False": "True", "is": "is not", "any": "all", "all": "any",
    "min": "max", "max": "min",
}  # fmt: skip
OF_SQL = {
    "=": "<>", "<>": "=", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "*": "/",
    "AND": "OR", "OR": "AND", "LEFT": "INNER", "INNER": "LEFT", "min": "max", "max": "min",
    "sum": "avg", "avg": "sum", "DESC": "", "NULL": "0", "row_number": "rank", "and": "or",
    "==": "!=", "!=": "==",
}  # fmt: skip
CHANGED = (tokenize.OP, tokenize.NAME, tokenize.NUMBER)
HIDDEN = re.compile(r"\{#.*?#\}|--[^\n]*", re.DOTALL)  # comments and the headers of templates
TOKEN = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\(\*\)|\w+|<>|[<>=!]=|[<>=+*-]")  # (*): of count(*)


@dataclass
class Mutant:
    """One token of a file, and what takes its place."""

    path: Path
    line: int
    start: int
    end: int
    new: str

    def text(self) -> str:
        old = self.path.read_text(encoding="utf-8")
        return old[: self.start] + self.new + old[self.end :]

    def __str__(self) -> str:
        old = self.path.read_text(encoding="utf-8")[self.start : self.end]
        return f"{self.path.relative_to(ROOT)}:{self.line}: {old} -> {self.new or 'nothing'}"


def of_python(path: Path) -> Iterator[Mutant]:
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        new = OF_PYTHON.get(token.string)
        if token.type == tokenize.NUMBER and token.string.isdigit():
            new = str(int(token.string) + 1)
        is_decorator = token.line.startswith("@")  # frozen=True
        of_two = token.line[token.end[1] :].startswith(" not ")  # is not
        if new is not None and not (is_decorator or of_two) and token.type in CHANGED:
            yield Mutant(path, token.start[0], start, end, new)


def of_template(path: Path) -> Iterator[Mutant]:
    text = path.read_text(encoding="utf-8")
    hidden = [match.span() for match in HIDDEN.finditer(text)]
    for match in TOKEN.finditer(text):
        start, end = match.span()
        new = OF_SQL.get(match[0])
        if match[0].isdigit():
            new = str(int(match[0]) + 1)
        of_jinja = text[start - 1] in "{%" or text[end : end + 1] in ("%", "}")  # of {%- and -%}
        is_hidden = any(first <= start < last for first, last in hidden)
        if new is not None and not is_hidden and not (of_jinja and match[0] == "-"):
            yield Mutant(path, text.count("\n", 0, start) + 1, start, end, new)


def _is_changed(path: Path) -> bool:
    """Is it a file whose tokens are changed? Other engines have tests of their own."""
    return path.suffix in (".py", ".j2", ".sql") and "databases" not in path.parts


def mutants(n: int, seed: int) -> list[Mutant]:
    """Draw a file first and then a token of it, so that long files do not get all of them."""
    draw = random.Random(seed)
    found: list[Mutant] = []
    files = {folder: sorted(filter(_is_changed, (ROOT / folder).rglob("*"))) for folder in FOLDERS}
    while len(found) < n:
        path = draw.choice(files[FOLDERS[len(found) % len(FOLDERS)]])
        tokens = list(of_python(path) if path.suffix == ".py" else of_template(path))
        if tokens and (chosen := draw.choice(tokens)) not in found:
            found.append(chosen)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=60, help="how many changes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="begin with this one of them")
    arguments = parser.parse_args()
    missed = 0
    chosen = mutants(arguments.n, arguments.seed)[arguments.first :]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
        for number, mutant in enumerate(chosen, start=arguments.first):
            changed = copy / mutant.path.relative_to(ROOT)
            changed.write_text(mutant.text(), encoding="utf-8")
            for part in PARTS:
                done = subprocess.run(
                    [*TESTS, *part], cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)},
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
                if done.returncode:
                    break
            changed.write_text(mutant.path.read_text(encoding="utf-8"), encoding="utf-8")
            by = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
            missed += done.returncode == 0
            found = by[1] if by else done.returncode or "not found"
            print(f"{number:3} {mutant}: {found}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} changes found")


if __name__ == "__main__":
    main()
