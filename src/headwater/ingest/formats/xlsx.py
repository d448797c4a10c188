"""Excel workbooks: one row of a sheet per record, as JSON text."""

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import date, datetime, time, timedelta
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from headwater.config.extras.packages import importing_extra
from headwater.errors import ConfigError, ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.formats.protocol import Lines, ObjectData, Sample, Target
from headwater.ingest.formats.reader_options import ReaderOptions

if TYPE_CHECKING:
    from openpyxl import Workbook

_MOST_BYTES = 512 * 1024**2
"""Of the unpacked workbook: an archive of a few kilobytes may unpack to gigabytes."""
_ENCRYPTED = b"\xd0\xcf\x11\xe0"
"""The container of encrypted workbooks, and of those from before Excel 2007."""

_Cells = Sequence[Any]
_NumberedCells = tuple[int, _Cells]


class XlsxFormat:
    """Options: sheet (the first visible one), headerRow (the first row with a value).

    A cell with a formula has the value that was last stored, and null if none was.
    """

    def read_lines(self, source: ObjectData, options: ReaderOptions, target: Target) -> Lines:
        """Return one JSON object per row with a value; its number is that of the sheet's row."""
        rows = list(_iter_records(source, options))
        note = "" if rows else "no rows below the header"
        return Lines([number for number, _ in rows], [text for _, text in rows], note)

    def sample(self, source: ObjectData, options: ReaderOptions, max_lines: int) -> Sample:
        """Return the first rows, which name their columns."""
        return Sample(None, tuple(text for _, text in islice(_iter_records(source, options), max_lines)))


def _iter_records(source: ObjectData, options: ReaderOptions) -> Iterator[tuple[int, str]]:
    with closing(_open(source)) as workbook:
        sheet = _find_sheet(source.uri, workbook, options.text("sheet"))
        # Writers may store dimensions that are too small.
        sheet.reset_dimensions()
        rows = _skip_blank(enumerate(sheet.iter_rows(values_only=True), 1))
        header = _take_header(source.uri, rows, options)
        if header is None:
            return
        names = _name_columns(source.uri, header)
        for number, cells in rows:
            yield number, _to_json(names, cells)


def _open(source: ObjectData) -> "Workbook":
    with importing_extra("excel", "`format: xlsx`"):
        import openpyxl

    if source.data.startswith(_ENCRYPTED):
        raise ObjectUnreadableError(
            f"{source.uri} is encrypted, or a workbook from before Excel 2007",
            hint="save it as .xlsx without a password",
        )
    try:
        with ZipFile(io.BytesIO(source.data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > _MOST_BYTES:
            raise ObjectTooLargeError(
                f"{source.uri} unpacks to {size:,} bytes; {_MOST_BYTES:,} are allowed",
                hint="split the workbook",
            )
        return openpyxl.load_workbook(
            io.BytesIO(source.data), read_only=True, data_only=True, keep_links=False
        )
    except (BadZipFile, KeyError, ValueError) as error:
        raise ObjectUnreadableError(f"{source.uri} is not an Excel workbook: {error}") from error


def _find_sheet(uri: str, workbook: "Workbook", name: str) -> Any:
    sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    if name:
        if name not in sheets:
            raise ObjectUnreadableError(
                f"{uri} has no sheet {name!r}",
                hint=f"its sheets: {', '.join(sheets)}; see the option `sheet`",
            )
        return sheets[name]
    visible = [sheet for sheet in sheets.values() if sheet.sheet_state == "visible"]
    if not visible:
        raise ObjectUnreadableError(f"{uri} has no visible sheet", hint="name one with the option `sheet`")
    return visible[0]


def _skip_blank(rows: Iterable[_NumberedCells]) -> Iterator[_NumberedCells]:
    return ((number, cells) for number, cells in rows if any(cell is not None for cell in cells))


def _take_header(uri: str, rows: Iterator[_NumberedCells], options: ReaderOptions) -> _Cells | None:
    """Take the header from the rows; None for a sheet without any."""
    wanted = options.text("headerRow")
    if not wanted:
        return next((cells for _, cells in rows), None)
    if not wanted.isdecimal() or int(wanted) < 1:
        raise ConfigError(
            f"reader option headerRow is {wanted!r}", hint="set it to the number of a row, from 1"
        )
    for number, cells in rows:
        if number >= int(wanted):
            if number == int(wanted):
                return cells
            break
    raise ObjectUnreadableError(
        f"{uri} has no header in row {wanted}",
        hint="the option `headerRow` names the row with the column names",
    )


def _name_columns(uri: str, header: _Cells) -> list[str]:
    """Return a name for each column; as in CSV, one without a name is `_c` and its number from 0."""
    names = [f"_c{at}" if cell is None else str(_to_value(cell)).strip() for at, cell in enumerate(header)]
    counts = Counter(name.lower() for name in names)
    twice = next((name for name in names if counts[name.lower()] > 1), None)
    if twice is not None:
        raise ObjectUnreadableError(
            f"{uri} has two columns {twice!r}, in whatever case",
            hint="rename one of them, or set the option `headerRow` if the names are in another row",
        )
    return names


def _to_json(names: Sequence[str], cells: _Cells) -> str:
    named = zip(chain(names, map("_c{}".format, count(len(names)))), cells, strict=False)
    record = {name: _to_value(cell) for name, cell in named if cell is not None}
    return json.dumps(record, ensure_ascii=False)


def _to_value(cell: Any) -> object:
    """Return a value of JSON. Excel stores a date as a time at midnight, and marks it by its format only."""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat()
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return f"PT{f'{cell.total_seconds():f}'.rstrip('0').rstrip('.')}S"
    return cell
