"""Suppress pytest's dots: each step prints its own line."""


def pytest_report_teststatus(report, config):
    if report.passed and report.when == "call":
        return "passed", "", ""
    return None
