"""Results as plain Python values, for output without a data frame."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TEXT, COUNT, NUMBER, PROSE = "text", "count", "number", "prose"
_COUNTS = ("k", "n_users", "n_clusters", "n_runs", "n_audited")


@dataclass(frozen=True)
class Rows:
    """The rows of a result; a missing value is None or NaN.

    Attributes:
        names: the names of the columns.
        kinds: the kind of each column: `text`, `count`, `number` or `prose` (text that can be
            wrapped).
        values: one tuple per row.
    """

    names: Sequence[str]
    kinds: Sequence[str]
    values: Sequence[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> list[Any]:
        """Return the values of a column."""
        position = self.names.index(name)
        return [row[position] for row in self.values]

    def without(self, *names: str) -> Rows:
        """Return the rows without some columns."""
        return self.only([name for name in self.names if name not in names])

    def only(self, names: Sequence[str]) -> Rows:
        """Return the rows with some columns, in the given order."""
        places = [list(self.names).index(name) for name in names]
        columns = [[part[place] for place in places] for part in (self.names, self.kinds)]
        values = [tuple(row[place] for place in places) for row in self.values]
        return Rows(columns[0], columns[1], values)

    @classmethod
    def of(cls, result: Rows | pd.DataFrame) -> Rows:
        """Return the rows of a result."""
        return result if isinstance(result, Rows) else cls.of_frame(result)

    @classmethod
    def of_records(cls, records: Sequence[Mapping[str, Any]], prose: Collection[str] = ()) -> Rows:
        """Convert one or more records with the same names; columns of integers are counts."""
        kinds = [
            PROSE if name in prose else COUNT if isinstance(value, int) else TEXT
            for name, value in records[0].items()
        ]
        return cls(list(records[0]), kinds, [tuple(record.values()) for record in records])

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Rows:
        """Convert a data frame, without its index."""
        from pandas.api.types import is_float_dtype, is_numeric_dtype

        kinds = [
            NUMBER if is_float_dtype(dtype) else COUNT if is_numeric_dtype(dtype) else TEXT
            for dtype in frame.dtypes
        ]
        frame = without_bytes(frame)
        plain = frame.astype(object).where(frame.notna(), None)
        return cls(list(frame.columns), kinds, list(plain.itertuples(index=False, name=None)))


def text_of(value: Any) -> str:
    """Return a value as text; bytes, ids of the type BLOB, as DuckDB casts them."""
    if not isinstance(value, bytes):
        return str(value)
    plain = (chr(one) if 32 <= one < 127 and one not in b"\\\"'" else None for one in value)
    return "".join(
        character or f"\\x{one:02X}" for character, one in zip(plain, value, strict=True)
    )


def without_bytes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose bytes are texts."""
    texts: dict[str, Any] = {}
    for name, dtype in frame.dtypes.items():
        if dtype.kind == "O" and isinstance(next(iter(frame[name].dropna()), 0), bytes):
            texts[str(name)] = frame[name].map(text_of, na_action="ignore")
    return frame.assign(**texts) if texts else frame


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Convert rows of a result to a data frame; cutoffs and numbers of users stay integers."""
    frame: pd.DataFrame = table.to_pandas()
    counts = [name for name in _COUNTS if name in frame.columns]
    return frame.astype(dict.fromkeys(counts, "Int64"))
