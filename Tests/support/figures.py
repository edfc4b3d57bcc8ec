"""What a run counted and measured: a test notes it, and the run's last lines show all of it (Tests/conftest.py)."""

NOTED: list[tuple[str, str]] = []


def note(name: str, value: str):
    NOTED.append((name, value))


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
