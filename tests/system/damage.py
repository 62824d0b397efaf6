"""Damages copies of a database at random, and determines which rows are outside of the damaged pages.

Reads the file format of SQLite independently of perfd: https://www.sqlite.org/fileformat2.html
"""

import contextlib
import os
import random
import sqlite3
import struct
import uuid

import harness

PAGE = 4096
# Number of damages of one database; a larger number finds more and takes longer.
N_DAMAGES = int(os.environ.get("PERFD_DAMAGES", "8"))
SEED = int(os.environ.get("PERFD_SEED", "1"))
MODEL = {"name": "demo", "parameters": {"n": {"type": "int", "index": "int"}}, "results": {"rate": "float"}}
# Tables whose rows perfd salvages unchanged. The other tables are rebuilt from these.
TABLES = ("job", "timeline", "phase", "layout", "result", "shape", "model", "node_sample")


def varint(data, at):
    value = 0
    for i in range(9):
        byte = data[at + i]
        if i == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    raise AssertionError("not reached")


def overflow_pages(data, number):
    while number:
        yield number
        number = int.from_bytes(data[(number - 1) * PAGE:][:4], "big")


def rows_of_tree(data, root):
    """Returns (rowid, pages of the row) for each row of a table of an intact file."""
    at = (root - 1) * PAGE
    kind, _, n = struct.unpack_from(">BHH", data, at)
    pointers = at + (12 if kind == 5 else 8)
    cells = [at + offset for offset in struct.unpack_from(f">{n}H", data, pointers)]
    if kind == 5:
        for child in [int.from_bytes(data[cell:cell + 4], "big") for cell in cells] + [int.from_bytes(data[at + 8:at + 12], "big")]:
            yield from rows_of_tree(data, child)
        return
    assert kind == 13, kind
    for cell in cells:
        size, body = varint(data, cell)
        rowid, body = varint(data, body)
        pages = {root}
        if size > PAGE - 35:
            least = (PAGE - 12) * 32 // 255 - 23
            local = least + (size - least) % (PAGE - 4)
            local = local if local <= PAGE - 35 else least
            pages |= set(overflow_pages(data, int.from_bytes(data[body + local:body + local + 4], "big")))
        yield rowid, pages


def read_rows(path):
    """Returns {table: {rowid: pages}} of an intact file without a log."""
    data = path.read_bytes()
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        roots = dict(database.execute("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'"))
    return {table: dict(rows_of_tree(data, roots[table])) for table in TABLES}


# Kinds of damage caused by disks and memory.
def zeros(rng, page):
    return bytes(PAGE)


def noise(rng, page):
    return rng.randbytes(PAGE)


def torn(rng, page):
    """A torn write, which ended at a sector boundary."""
    at = 512 * rng.randrange(1, 8)
    return page[:at] + rng.randbytes(PAGE - at)


def without_header(rng, page):
    return rng.randbytes(12) + page[12:]


def damage(path, rng):
    """Damages 1 to 20 pages of a file. Returns the numbers of the pages."""
    data = bytearray(path.read_bytes())
    n = len(data) // PAGE
    first = rng.randrange(1, n + 1)
    count = rng.choice((1, 1, 2, 4, 8, 20))
    # Adjacent pages, as in a bad block of a disk, or scattered pages.
    numbers = set(range(first, min(first + count, n + 1))) if rng.random() < 0.3 else {rng.randrange(1, n + 1) for _ in range(count)}
    how = rng.choice((zeros, noise, torn, without_header))
    for number in numbers:
        at = (number - 1) * PAGE
        data[at:at + PAGE] = how(rng, bytes(data[at:at + PAGE]))
    path.write_bytes(data)
    return numbers, how.__name__


def kept(rows, damaged):
    """Returns (table, rowid) of the rows outside of the damaged pages."""
    return {(table, rowid) for table, found in rows.items() for rowid, pages in found.items() if not pages & damaged}


def found_in(path, rows):
    """Returns (table, key) of the rows in a salvaged file, in which phases have new rowids."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {(table, rowid) for table in rows for (rowid,) in database.execute(f"SELECT rowid FROM {table}")}


def documents(rng, n):
    for _ in range(n):
        yield {**harness.indicator(name=rng.choice(("demo", "other")), rate=rng.random()), "@parameters": {"n": rng.randrange(9)},
               "version": f"v{rng.randrange(3)}", "text": "x" * rng.choice((0, 10, 300, 300, 9000 if rng.random() < 0.1 else 100))}


def fill(test, daemon, n=8000, n_jobs=150):
    """Returns the ids of the acknowledged results."""
    rng = random.Random(SEED)
    ids = []
    with daemon.client() as client:
        request = client.request()
        request.register.model.append(harness.to_json(MODEL))
        test.assert_status(client.call(request), "OK")
        for _ in range(n // 200):
            new = [uuid.uuid4().bytes for _ in range(200)]
            test.assert_status(client.submit(*documents(rng, 200), ids=new), "OK")
            ids += new
        for i in range(n_jobs):
            test.assert_status(client.begin(f"job-{i}"), "OK")
            for k in range(i % 4):
                test.assert_status(client.mark(f"phase {k}", job=f"job-{i}"), "OK")
            if i % 10:
                test.assert_status(client.end(f"job-{i}", 0), "OK")
    return ids
