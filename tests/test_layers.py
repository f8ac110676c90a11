"""The package structure: import contracts and files at the top level."""

from __future__ import annotations

import graphlib
import re
import runpy
import subprocess
import sys
import tomllib

import grimp
import pytest

from tests.support.paths import ROOT, TESTS

PACKAGE = ROOT / "sqlmetrics"


def test_the_contracts_hold() -> None:
    """Run import-linter in a process of its own: it disables the loggers of its process."""
    code = "from importlinter import cli; raise SystemExit(cli.lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("sqlmetrics", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        raise AssertionError(f"a circle: {' -> '.join(error.args[1])}") from None


def test_few_modules_stand_outside_of_packages() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 12


def test_every_package_says_what_it_is() -> None:
    for init in PACKAGE.rglob("__init__.py"):
        assert init.read_text(encoding="utf-8").startswith('"""'), init


def test_layers_name_every_module() -> None:
    """A new package must be added to the layers."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]
    assert layers["exhaustive"] is True
    assert "exhaustive_ignores" not in layers
    assert "ignore_imports" not in layers


def test_no_test_module_imports_another() -> None:
    """Helpers of several test modules are in tests/support."""
    imported = re.compile(r"^\s*(from tests\.\S*\btest_|from tests\.\w+ import .*\btest_)", re.M)
    for path in TESTS.rglob("*.py"):
        assert not imported.search(path.read_text(encoding="utf-8")), path


def test_a_python_that_is_too_old_is_refused_by_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["requires-python"] == ">=3.11"
    (folder,) = project["build-system"]["backend-path"]
    backend = ROOT / folder / f"{project['build-system']['build-backend']}.py"
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer"):
        runpy.run_path(str(backend))
