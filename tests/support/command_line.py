"""The command line, run in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from sqlmetrics.cli.commands import main


def run(*arguments: str | Path, code: int | tuple[int, ...] = 0, **options: Any) -> Result:
    """Run a command, which ends with this exit code, or one of these."""
    result = CliRunner().invoke(main, list(map(str, arguments)), **options)
    assert not isinstance(result.exception, Exception), result.exception
    assert result.exit_code in (code if isinstance(code, tuple) else (code,)), result.output
    return result
