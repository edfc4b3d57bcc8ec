"""The vector files under Tests/Vectors."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Vectors"


def load(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
