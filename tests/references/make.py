"""Ask other libraries for their numbers: each in an environment of its own, on the same tables.

    python tests/references/make.py [NAME ...] [--envs DIR] [--data DIR] [--out DIR]

Without names: all systems. For each, an environment is made from requirements/NAME.txt where DIR of
--envs has none yet, its adapter (systems/run_*.py) is run in it on every data set, and NAME.json is
written. The tables are those of data.py or, with --data, those of a folder (see `outside`); the
environments need the network, the pinned interpreters and minutes, so the tests only read the
stored files. compare.py says how our numbers compare with what was written with --data.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import data

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class System:
    """How a system is asked."""

    adapter: str = ""  # the NAME of run_NAME.py, if not that of the system
    python: str = "3.11"  # the interpreter that its environment is made with
    package: str = ""  # whose version is that of the system, if it has another name
    data: tuple[str, ...] = ("plain",)
    settles_ties: bool = True  # its order of equal scores is always the same
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # {data: metrics}
    alone: tuple[str, ...] = ()  # installed without what they ask for
    single: bool | tuple[str, ...] = False  # its values, or metrics, are in single precision
    folder: str = ""  # of its file, for cells that are no metrics of a convention
    # URLs of its files, for a system without a package; `package` is then its release
    source: tuple[str, ...] = ()


# which of several items with equal scores at the cut counts is left open, and nothing else
_COVERAGE = {"ties": ("Coverage",)}
_OF_RECTOOLS = ("Intersection", "Intersection(ref_k=4)", "Accuracy", "MCC", "PartialAUC", "PAP")
_NDCG = "ndcg_at_k"
_NDCG_OF_RECOMMENDERS = (_NDCG, f'{_NDCG}(score_type="raw")', f'{_NDCG}(score_type="exp")')

# the versions that are written beside the numbers
_MADE_WITH = ("python", "numpy", "pandas", "polars", "pyspark", "scikit-learn", "scipy", "torch")

_NGCF = (
    "https://raw.githubusercontent.com/xiangwang1223/neural_graph_collaborative_filtering/"
    "a718a4f2df7c3942ca0df6759926975762c61eed/NGCF/utility"
)
_OMNIREC = (
    "https://raw.githubusercontent.com/ISG-Siegen/OmniRec/"
    "d631a3375e1339b3cfb7d90e776316e89e5244e2/src/omnirec/metrics"
)
_WARPREC = (
    "https://raw.githubusercontent.com/sisinflab/warprec/"
    "e00f8cc786d5c47dc94ef9d72be6a83d7aed9f62/warprec"
)
_ACCURACY = ("precision", "recall", "f1", "hit_rate", "map", "mar", "mrr", "ndcg")

# systems that are not asked as `System()` says
_ASKED = {
    "rectools": System(
        data=("plain", "partial", "relisted", "repeats", "full"),
        # differences that the convention names
        left_out={
            "relisted": _OF_RECTOOLS,
            "repeats": (*_OF_RECTOOLS, "MAP", "MAP(divide_by_k=True)", "Serendipity"),
        },
    ),
    "lenskit": System(
        data=("plain", "common", "relisted", "full", "sorted"),
        single=("ExposureGini",),
    ),
    "jurity": System(data=("plain", "unlogged"), settles_ties=False),
    "recommenders": System(
        data=("plain", "ties", "repeats", "versed"),
        # likewise
        left_out={"repeats": (*_NDCG_OF_RECOMMENDERS, "auc")},
    ),
    "rs_metrics": System(data=("plain", "common", "partial", "repeats")),
    "replay": System(package="replay-rec", data=("plain", "ties", "repeats"), left_out=_COVERAGE),
    **{
        f"replay-{release}": System(
            adapter="replay_on_spark",
            python="3.8",
            package="replay-rec",
            data=("plain", "ties", "repeats"),
            left_out=_COVERAGE,
            alone=(f"replay-rec=={release}.0",),
        )
        for release in ("0.9", "0.12")
    },
    "ranx": System(settles_ties=False),
    "trec_eval": System(package="pytrec-eval-terrier", data=("plain", "ties", "pooled")),
    "rs_metrics-0.2": System(
        adapter="rs_metrics",
        python="3.8",
        package="rs-metrics",
        data=("plain", "common", "partial", "repeats"),
    ),
    "recbole": System(
        data=("full", "tested"),
        settles_ties=False,
        # differences that the convention names
        left_out={"full": ("GiniIndex", "ShannonEntropy")},
    ),
    "lightgbm": System(data=("labelled",)),
    "xgboost": System(package="xgboost-cpu", data=("labelled",)),
    "catboost": System(data=("labelled",)),
    "ir_measures": System(
        data=("plain", "ties", "pooled", "aspects", "tied_aspects"),
        # differences that the convention names
        left_out={
            "ties": ("RR", "Compat", "Compat(p=0.8)", "Compat(p=0.8, normalize=False)"),
        },
    ),
    "recpack": System(
        data=("plain", "known"),
        settles_ties=False,
        # a difference that the convention names
        left_out={"plain": ("IPSHitRateK",)},
        alone=("recpack==0.3.6",),
    ),
    "cornac": System(
        data=("full", "labelled", "common"),
        settles_ties=False,
        alone=("cornac==3.0.1",),
    ),
    "clayrs": System(
        data=("plain", "tested", "labelled"),
        settles_ties=False,
        alone=("clayrs==0.5.1",),
    ),
    "rexmex": System(data=("plain", "full", "labelled"), settles_ties=False),
    "evidently": System(
        data=("labelled", "long", "known", "full", "versed"),
        settles_ties=False,
    ),
    "spark": System(package="pyspark", data=("plain", "labelled")),
    "torchmetrics": System(data=("labelled",), settles_ties=False, single=True),
    "mlflow": System(data=("common",)),
    "fairranktune": System(data=("grouped", "groups_of_labelled")),
    "fairlearn": System(folder="gaps"),
    "rbo": System(data=("grouped",)),
    "mteb": System(data=("plain", "ties"), alone=("mteb==2.26.0",)),
    "ngcf": System(
        package="a718a4f",
        data=("full", "tested"),
        source=(f"{_NGCF}/metrics.py", f"{_NGCF}/batch_test.py"),
    ),
    "omnirec": System(
        package="0.1.1, d631a33",
        data=("plain", "common"),
        source=(f"{_OMNIREC}/base.py", f"{_OMNIREC}/ranking.py"),
    ),
    "warprec": System(
        package="1.4.6, e00f8cc",
        data=("full", "tested"),
        settles_ties=False,
        single=True,
        source=(
            *(f"{_WARPREC}/evaluation/metrics/accuracy/{name}.py" for name in _ACCURACY),
            f"{_WARPREC}/evaluation/metrics/base_metric.py",
            f"{_WARPREC}/utils/enums.py",
            f"{_WARPREC}/utils/registry.py",
        ),
    ),
}
SYSTEMS = {
    name: replace(one, adapter=one.adapter or name, package=one.package or name.replace("_", "-"))
    for path in sorted((HERE / "requirements").glob("*.txt"))
    for name, one in [(path.stem, _ASKED.get(path.stem, System()))]
}
assert _ASKED.keys() <= SYSTEMS.keys(), "each entry needs its requirements/NAME.txt"


def interpreter(version: str) -> str:
    """Find the Python that an environment is made with: kept by pyenv, or on the path."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    found = str(kept[-1]) if kept else shutil.which(f"python{version}")
    if found is None:
        raise SystemExit(f"there is no Python {version}")
    return found


def environment(name: str, envs: Path) -> Path:
    """Return the Python of a system's environment, which is made where it is missing."""
    python = envs / name / "bin" / "python"
    if not python.exists():
        print(f"{name}: making {envs / name}", flush=True)
        subprocess.run([interpreter(SYSTEMS[name].python), "-m", "venv", envs / name], check=True)
        pins = HERE / "requirements" / f"{name}.txt"
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, "-r", pins], check=True)
        if alone := SYSTEMS[name].alone:
            subprocess.run([*install, "--no-deps", *alone], check=True)
        for url in SYSTEMS[name].source:
            file = envs / name / "source" / url.rpartition("/")[2]
            file.parent.mkdir(exist_ok=True)
            with urllib.request.urlopen(url) as answer:
                file.write_bytes(answer.read())
    return python


def installed_in(python: Path) -> dict[str, str]:
    """Return {package: version} of an environment, and the version of its Python."""
    code = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
    version = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    command = [python, "-m", "pip", "list", "--format", "json"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    packages = json.loads(listed.stdout)
    found = {row["name"].lower().replace("_", "-"): row["version"] for row in packages}
    return {"python": version.stdout.strip(), **found}


def write_tables(tables: data.Tables, folder: Path, cutoffs: list[int]) -> None:
    """Write the tables as an adapter reads them."""
    for name, rows in tables.items():
        if rows:
            with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
    first = tables["recommendations"][0]
    request = {
        "cutoffs": cutoffs,
        "models": list(dict.fromkeys(row["model"] for row in tables["recommendations"])),
        "integers": [name for name in ("user_id", "item_id") if isinstance(first[name], int)],
    }
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")


def outside(folder: Path) -> data.Tables:
    """Read tables of a folder: recommendations.parquet (or .csv), interactions, history, and so on.

    The columns are those of data.py: recommendations have model, user_id, item_id, score and rank;
    all columns of items but item_id are its features.
    """
    import duckdb

    found: data.Tables = {}
    for name in (
        "recommendations",
        "interactions",
        "history",
        "items",
        "aspects",
        "baseline",
        "logs",
    ):
        for path in sorted(folder.glob(f"{name}.*")):
            with duckdb.connect() as connection:
                frame = connection.sql(f"FROM '{path}'").df()
            found[name] = frame.to_dict("records")
    return found


def has_ties(tables: data.Tables) -> bool:
    """Does any list have equal scores?"""
    lists = tables["recommendations"]
    return len({(row["model"], row["user_id"], row["score"]) for row in lists}) < len(lists)


def untied(tables: data.Tables) -> data.Tables:
    """Replace scores by 1 / rank, for systems that leave the order of equal scores open."""
    lists = [{**row, "score": 1 / row["rank"]} for row in tables["recommendations"]]
    return {**tables, "recommendations": lists}


def surroundings(name: str, python: Path) -> dict[str, str]:
    """Return the environment variables that an adapter needs."""
    if SYSTEMS[name].adapter != "replay_on_spark":
        return {}
    stand_ins = HERE / "systems" / "stand_ins"
    return {"PYSPARK_PYTHON": str(python.absolute()), "PYTHONPATH": str(stand_ins)}


def ask(name: str, python: Path, tables: data.Tables, cutoffs: list[int]) -> dict[str, Any]:
    """Run the adapter of a system on tables."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_tables(tables, folder, cutoffs)
        adapter = HERE / "systems" / f"run_{SYSTEMS[name].adapter}.py"
        command = [python, adapter, folder, folder / "said.json"]
        subprocess.run(command, check=True, env=os.environ | surroundings(name, python))
        said: dict[str, Any] = json.loads((folder / "said.json").read_text(encoding="utf-8"))
    return said


def data_sets(system: System, folder: Path | None) -> Iterator[tuple[str, data.Tables]]:
    """Yield the names and the tables of the data that a system is asked about."""
    if folder is None:
        yield from ((name, data.tables(name)) for name in system.data)
    else:
        tables = outside(folder)
        yield folder.name, tables if system.settles_ties else untied(tables)


def precision(system: System, part: str, metric: str) -> dict[str, str]:
    """Mark a value in single precision, if the other values of the system are not."""
    single = part == "cells" and isinstance(system.single, tuple) and metric in system.single
    return {"precision": "single"} if single else {}


def make(name: str, envs: Path, folder: Path | None, cutoffs: list[int]) -> dict[str, Any]:
    """Return what a system says about all its data."""
    system = SYSTEMS[name]
    python = environment(name, envs)
    installed = installed_in(python)
    result: dict[str, Any] = {
        "system": name if system.source else system.package,
        "release": system.package if system.source else installed[system.package],
        "made_with": {name: installed[name] for name in _MADE_WITH if name in installed},
        **({"precision": "single"} if system.single is True else {}),
        "data": {},
        "cells": [],
        "without_value": [],
    }
    for data_name, tables in data_sets(system, folder):
        said = ask(name, python, tables, cutoffs)
        kind = "ties" if has_ties(tables) else data_name
        left_out = system.left_out.get(kind, ())
        result["data"][data_name] = data.fingerprint(tables) if folder is None else str(folder)
        for part in ("cells", "without_value"):
            result[part] += [
                {"data": data_name, **cell, **precision(system, part, cell["name"])}
                for cell in said[part]
                if cell["name"] not in left_out
            ]
    return result


def one_cell_per_line(result: dict[str, Any]) -> str:
    """Write JSON that shows in a diff which numbers changed."""
    parts = []
    for name, value in result.items():
        if isinstance(value, list):
            lines = ",\n".join("  " + json.dumps(entry) for entry in value)
            parts.append(f' "{name}": [\n{lines}\n ]' if lines else f' "{name}": []')
        else:
            parts.append(f' "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    """Ask the systems that were named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SYSTEMS))
    parser.add_argument("--envs", type=Path, help="where the environments are kept")
    parser.add_argument("--data", type=Path, help="a folder of tables, instead of the made ones")
    parser.add_argument("--out", type=Path, default=HERE, help="where NAME.json is written")
    parser.add_argument("--cutoffs", default=",".join(map(str, data.CUTOFFS)))
    given = parser.parse_args()
    if unknown := set(given.names) - set(SYSTEMS):
        parser.error(f"no file requirements/NAME.txt: {', '.join(sorted(unknown))}")
    if given.data is not None and given.out == HERE:
        parser.error("--data needs --out: what is stored is about the made tables")
    cutoffs = [int(k) for k in given.cutoffs.split(",")]
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.names or SYSTEMS:
            result = make(name, given.envs or Path(scratch), given.data, cutoffs)
            path = given.out / SYSTEMS[name].folder / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one_cell_per_line(result), encoding="utf-8")
            counts = f"{len(result['cells'])} cells, {len(result['without_value'])} without a value"
            print(f"{name}: {counts}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
