"""Facts of the tables behind handles: equality of contents and of columns as multisets, whatever the order.

Cells are read only when cheaper signs do not decide: different numbers of records or columns mean different contents,
equal fingerprints mean equal ones. What had to be read is kept as digests by fingerprint, never as cells.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock

from toolenv.environment import TableView
from toolenv.model import Json
from toolenv.values import Key, ValueIndex, key, keys_equal, multisets_equal

_KEPT = 4096
_CHUNK = 4096


@dataclass(slots=True)
class _Digests:
    rows: bytes | None = None
    columns: dict[int, tuple[bytes, bool]] = field(default_factory=dict)


_known: OrderedDict[str, _Digests] = OrderedDict()
_lock = Lock()


def same_table(left: TableView, right: TableView) -> bool:
    """Whether two tables hold the same rows in the same order (column names play no part)."""
    if not _same_shape(left, right):
        return False
    if left.fingerprint == right.fingerprint:
        return True
    for start in range(0, left.num_records, _CHUNK):
        stop = min(start + _CHUNK, left.num_records)
        pairs = zip(left.rows(start, stop), right.rows(start, stop), strict=True)
        if not all(_rows_equal(_row_keys(a), _row_keys(b)) for a, b in pairs):
            return False
    return True


def same_content(left: TableView, right: TableView) -> bool:
    """Whether two tables hold the same multiset of rows."""
    if not _same_shape(left, right):
        return False
    if left.fingerprint == right.fingerprint:
        return True
    if not all(_columns_equal(left, index, right, index) for index in range(len(left.columns))):
        return False
    if _row_digest(left) == _row_digest(right):
        return True
    inexact = any(_column_digest(left, index)[1] for index in range(len(left.columns)))
    return inexact and _rows_match(left, right)


def has_column(table: TableView, values: TableView, index: int) -> bool:
    """Whether ``table`` has a column with the multiset of values that column ``index`` of ``values`` holds."""
    if table.num_records != values.num_records:
        return False
    if table.fingerprint == values.fingerprint:
        return True
    return any(_columns_equal(values, index, table, other) for other in range(len(table.columns)))


def held(table: TableView, wanted: Iterable[Key]) -> set[Key]:
    """Those of the wanted values that stand in any cell of a table; its cells are read once."""
    left = set(wanted)
    found: set[Key] = set()
    for index in range(len(table.columns)):
        if not left:
            break
        cells = ValueIndex(_column_keys(table, index))
        found |= {k for k in left if k in cells}
        left -= found
    return found


def _same_shape(left: TableView, right: TableView) -> bool:
    return left.num_records == right.num_records and len(left.columns) == len(right.columns)


def _columns_equal(left: TableView, left_index: int, right: TableView, right_index: int) -> bool:
    left_digest, left_inexact = _column_digest(left, left_index)
    right_digest, right_inexact = _column_digest(right, right_index)
    if left_digest == right_digest:
        return True
    if not (left_inexact or right_inexact):
        return False
    return multisets_equal(_column_keys(left, left_index), _column_keys(right, right_index))


def _column_keys(table: TableView, index: int) -> Iterable[Key]:
    return (_cell_key(cell) for cell in table.column(index))


def _cell_key(cell: Json) -> Key:
    """The key of a cell; a value that is no atom (bytes) is compared by how it prints."""
    return key(cell) if cell is None or isinstance(cell, str | int | float) else repr(cell)


def _row_keys(row: Sequence[Json]) -> tuple[Key, ...]:
    return tuple(_cell_key(cell) for cell in row)


def _rows_equal(left: tuple[Key, ...], right: tuple[Key, ...]) -> bool:
    return left == right or all(keys_equal(a, b) for a, b in zip(left, right, strict=True))


def _rows_match(left: TableView, right: TableView) -> bool:
    """Whether the rows of two tables pair up within the tolerance of floats."""
    first, second = (
        sorted((_row_keys(row) for row in table.rows(0, table.num_records)), key=_row_order) for table in (left, right)
    )
    return all(_rows_equal(a, b) for a, b in zip(first, second, strict=True))


def _row_order(row: tuple[Key, ...]) -> tuple[list[bytes], list[float]]:
    exact = [_code(item) for item in row if not isinstance(item, float)]
    return exact, [item for item in row if isinstance(item, float)]


def _code(item: Key) -> bytes:
    """Bytes that are equal exactly where two keys are equal without tolerance."""
    if item is None:
        return b"\0"
    if isinstance(item, str):
        return b"t" + item.encode("utf-8", "surrogatepass")
    if isinstance(item, float):
        return b"n" + (b"%d" % int(item) if item.is_integer() else repr(item).encode())
    return b"n%d" % item


def _digest(codes: Iterable[bytes]) -> bytes:
    whole = blake2b(digest_size=16)
    for code in sorted(codes):
        whole.update(len(code).to_bytes(8, "big"))
        whole.update(code)
    return whole.digest()


def _digests(table: TableView) -> _Digests:
    fingerprint = table.fingerprint
    with _lock:
        known = _known.get(fingerprint)
        if known is None:
            known = _known[fingerprint] = _Digests()
            if len(_known) > _KEPT:
                _known.popitem(last=False)
        else:
            _known.move_to_end(fingerprint)
    return known


def _column_digest(table: TableView, index: int) -> tuple[bytes, bool]:
    """(digest of the column's values, whether it holds a float that only a tolerance may equal)."""
    digests = _digests(table)
    known = digests.columns.get(index)
    if known is None:
        column = list(_column_keys(table, index))
        inexact = any(isinstance(item, float) and not item.is_integer() for item in column)
        known = digests.columns[index] = (_digest(_code(item) for item in column), inexact)
    return known


def _row_digest(table: TableView) -> bytes:
    digests = _digests(table)
    if digests.rows is None:
        rows = (_row_keys(row) for row in table.rows(0, table.num_records))
        digests.rows = _digest(b"".join(len(c).to_bytes(8, "big") + c for c in map(_code, row)) for row in rows)
    return digests.rows
