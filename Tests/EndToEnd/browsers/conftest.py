"""Suppress pytest's dots: each step prints its own line. Choose the relying party of each browser."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if is_repeated(item):
            item.add_marker(pytest.mark.whole("the other browser has it with this relying party"))


def is_repeated(item):
    """Return whether the test is for the browser's other relying party, or for a finger in Firefox. PRF is compared
    between the browsers."""
    values = item.callspec.params if hasattr(item, "callspec") else {}
    if item.cls and item.cls.__name__ == "TestFinger" and values["visit"].name == "firefox":
        return True
    has_prf = "prf" in item.nodeid.lower()
    return {"visit", "library"} <= values.keys() and not has_prf and values["library"] != values["visit"].library


def pytest_report_teststatus(report, config):
    if report.skipped or (report.passed and report.when == "call"):
        return report.outcome, "", ""
    return None

