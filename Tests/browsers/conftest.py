"""Each step prints its own line: pytest's dots would stand between them."""


def pytest_report_teststatus(report, config):
    if report.skipped or (report.passed and report.when == "call"):
        return report.outcome, "", ""
    return None
