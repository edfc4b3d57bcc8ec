"""Suppress pytest's dots: each step prints its own line. Choose the relying party of each browser."""

from support.whole import IS_WHOLE


def pytest_collection_modifyitems(config, items):
    if IS_WHOLE:
        return
    left_out = [item for item in items if is_left_out(item)]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def is_left_out(item):
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

