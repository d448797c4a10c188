"""Whether a statement makes each row of one row, whatever other rows there are. No Spark.

A table that follows another one by the rows that changed gives a statement those rows only.
"""

from collections import Counter

from sqlglot import exp

from headwater.config.processing.transform import INPUT_VIEW
from headwater.errors import TransformError
from headwater.lake.transforms.sql.carrying import carry_column, parse_query

_HINT = (
    "the statement gets the rows that changed, not all of them; it gets all with `refresh: full` and a "
    "`record_key`"
)


def check_row_wise(text: str, carried: str) -> None:
    """Raise `TransformError` for a statement that looks at several rows of `input` at once.

    Functions that it calls, and tables that it joins, are not looked at: nobody follows their changes.
    """
    query = parse_query(text)
    for kind, what in ((exp.Window, "a window"), (exp.AggFunc, "an aggregate"), (exp.Group, "GROUP BY")):
        found = query.find(kind)
        if found is not None:
            raise TransformError(
                f"SQL: {found.sql('spark').strip()} is {what}, which looks at several rows", hint=_HINT
            )
    for clause, what in ((exp.Limit, "LIMIT"), (exp.Offset, "OFFSET"), (exp.TableSample, "TABLESAMPLE")):
        if query.find(clause) is not None:
            raise TransformError(f"SQL: {what} depends on how many rows there are", hint=_HINT)
    names = Counter(table.name.lower() for table in query.find_all(exp.Table) if not table.db)
    own = {INPUT_VIEW, *(cte.alias.lower() for cte in query.find_all(exp.CTE))}
    unions = len(list(query.find_all(exp.Union)))
    doubled = sorted(name for name in own if names[name] > 1 + unions)
    if doubled:
        raise TransformError(
            f"SQL: it reads `{doubled[0]}` several times, as in a join with itself", hint=_HINT
        )
    try:
        carry_column(text, carried)
    except TransformError as error:
        raise TransformError(error.message, hint=_HINT) from error
