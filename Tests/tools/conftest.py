"""Each step prints its own line: pytest's dots would stand between them."""


def pytest_report_teststatus(report, config):
    if report.passed and report.when == "call":
        return "passed", "", ""
    return None
