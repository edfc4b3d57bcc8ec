"""An operation, its authenticator under the tracer, and the files that it starts from."""

import contextlib
import pathlib
import shutil

from faults.operations import Operation, unlock
from support.authenticator import Authenticator


def outcomes(found):
    """Describe a Counter by (acknowledged, changed)."""
    return ", ".join(f"{count} {'acknowledged' if told else 'not acknowledged'} and {'there' if there else 'absent'}"
                     for (told, there), count in sorted(found.items()))


class Bench:
    def __init__(self, operation: type[Operation], folder: pathlib.Path, tracer, surroundings=None, state=None):
        """`surroundings` are the fixtures that the operation needs; `state` is the state directory, if it has its own disk."""
        self.operation = operation(folder, surroundings)
        self.key = Authenticator(folder / "key", verification=operation.verification)
        self.key.state = state or self.key.state
        self.key.install()
        self.tracer, self.start_files = tracer, folder / "start"
        with self.key as key:
            unlock(key)
            self.operation.prepare(key)
        shutil.copytree(self.key.state, self.start_files)

    @contextlib.contextmanager
    def fresh(self):
        """Yield the traced authenticator, with the files of the start; it may end meanwhile."""
        shutil.rmtree(self.key.state)
        shutil.copytree(self.start_files, self.key.state)
        self.operation.requests = 0
        self.key.wrapper = self.tracer.wrapper
        with self.started():
            self.tracer.connect()
            yield self.key
        self.key.wrapper = []

    @contextlib.contextmanager
    def started(self):
        """Yield the authenticator, with an open vault."""
        try:
            self.key.start()
            self.operation.open(self.key)
            yield self.key
        except BaseException:
            print(self.key.said())
            raise
        finally:
            self.end()

    def end(self):
        """End the authenticator, which may have been killed."""
        key = self.key
        if key.process.poll() is None:
            key.stop()
        else:
            key.process, _ = None, key.output.close()

    def check(self, is_acknowledged):
        """Start the authenticator again, and check its files; return whether what the request changes is there."""
        with self.started() as key:
            return self.operation.check(key, is_acknowledged)
