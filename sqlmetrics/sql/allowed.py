"""Allowed SQL: lists of expressions that conditions and queries may use.

Conditions of `--where` and queries of templates may contain only the constructs in these lists, so
that unforeseen constructs are rejected.
"""

from __future__ import annotations

from sqlglot import exp

Kinds = tuple[type[exp.Expr], ...]


def _kinds(names: str) -> Kinds:
    return tuple(getattr(exp, name) for name in names.split())


ROUNDED = _kinds("Ceil Floor Round")
AGGREGATES = _kinds(
    "Avg Corr Count CovarPop CovarSamp FirstValue LastValue Max Median Min PercentileCont "
    "PercentileDisc Stddev StddevPop StddevSamp Sum Variance VariancePop"
)
RANKING = _kinds("CumeDist DenseRank Lag Lead Ntile PercentRank Rank RowNumber")

# expressions over one row with the same value in every dialect
_ROW = ROUNDED + _kinds(
    "Column Identifier Literal Boolean Null Paren And Or Not EQ NEQ GT GTE LT LTE Is In Between "
    "Like Add Sub Mul Div Mod Neg DPipe Case If Cast DataType Var "
    "Abs Sqrt Exp Ln Pow Greatest Least Coalesce Nullif Lower Upper Trim Length Substring Replace "
    "Extract"
)
# expressions over one row that some dialects lack or name differently
CONDITIONS = frozenset(_ROW) | frozenset(
    _kinds(
        "NullSafeEQ NullSafeNEQ ILike Escape TryCast DataTypeParam Interval Sign IsNan Left Right "
        "Concat StartsWith Contains Year Month Day Quarter Hour Minute Second TimestampTrunc "
        "DateTrunc"
    )
)
QUERIES = frozenset(_ROW + AGGREGATES + RANKING) | frozenset(
    _kinds(
        "Alias CTE Distinct Except Exists Filter From Group Having Intersect Join Limit Order "
        "Ordered Select Star Subquery Table TableAlias Tuple Union Values Where Window WindowSpec "
        "With Collate Log MD5 StrPosition DateTrunc DateDiff"
    )
)


def _types(names: str) -> frozenset[exp.DType]:
    return frozenset(getattr(exp.DType, name) for name in names.split())


TYPES_OF_QUERIES = _types(
    "BOOLEAN INT BIGINT INT128 FLOAT DOUBLE VARCHAR TEXT DATE TIMESTAMP TIMESTAMPNTZ"
)
TYPES_OF_CONDITIONS = TYPES_OF_QUERIES | _types(
    "TINYINT SMALLINT UTINYINT USMALLINT UINT UBIGINT DECIMAL CHAR TIMESTAMPNTZ TIMESTAMPTZ TIME "
    "INTERVAL"
)
