"""For all parts: print the figures that the tests noted at the end of the run, passed or failed."""

from support import figures, wire


def pytest_terminal_summary(terminalreporter):
    noted = list(figures.NOTED)
    if wire.REPORTS:
        noted.append(
            ("messages read by the strict decoder",
             f"{wire.READER.messages}, {wire.READER.octets} bytes in {wire.REPORTS} reports")
        )
    if not noted:
        return
    terminalreporter.write_sep("-", "figures")
    width = max(len(name) for name, _ in noted)
    for name, value in noted:
        terminalreporter.write_line(f"{name:{width}}  {value}")
