"""Nobody answers, or nobody waits any more. Both were begun with the run (conftest.py), so that they cost it little."""

from support import figures, wire


def test_time_out(waits):
    """Half a minute, CTAP §6's USER_ACTION_TIMEOUT, and the dialog is gone."""
    key, asked = waits["alone"]
    (kind, content), seconds, beats = asked.result()
    figures.note("time-out of a dialog", f"status {content.hex().upper()} after {seconds:.1f} s")
    assert (kind, content) == (wire.CBOR, b"\x2f")
    assert 29 < seconds < 33
    assert {status for _, status in beats} <= {1, 2} and len(beats) > 100
    key.pinentry.wait_for_no_dialog()


def test_client_that_leaves_in_mid_prompt(waits):
    """The next one is served at the latest when the dialog has timed out."""
    key, served = waits["left"]
    assert served.result() < 35
    key.pinentry.wait_for_no_dialog()
