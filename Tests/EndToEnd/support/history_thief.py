"""A program of the user that takes the history back: it has no key, reads and writes the files, and can lock the vault."""

import contextlib
import sqlite3

from .patience import PATIENCE


@contextlib.contextmanager
def store_of(key):
    """Lock the vault, so that the store is closed, and yield the database."""
    key.run("lock", "--control", key.control_socket)
    with contextlib.closing(sqlite3.connect(key.state / "credentials.sqlite", timeout=60 * PATIENCE)) as database:
        yield database
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def keep(key, *tables):
    """Return the rows of the tables, and the number of the newest entry; the vault is locked then."""
    with store_of(key) as database:
        rows = {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
        [(newest,)] = database.execute("SELECT coalesce(max(sequence), 0) FROM history").fetchall()
    return rows, newest


def put_back(key, rows, newest=None):
    """Put the rows back in place of those that are there, and delete the entries that are newer than a number."""
    with store_of(key) as database:
        for table, kept in rows.items():
            database.execute(f"DELETE FROM {table}")
            for row in kept:
                database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        if newest is not None:
            database.execute("DELETE FROM history WHERE sequence > ?", [newest])
