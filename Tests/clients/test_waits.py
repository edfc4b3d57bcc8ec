"""Nobody answers. It was begun with the run (conftest.py), so that it costs it little."""

from support import figures, wire


# Holds: PERSON-1, MGMT-30, TIME-1
def test_time_out(waits):
    """Half a minute, CTAP §6's USER_ACTION_TIMEOUT, and the dialog is gone."""
    key, asked = waits
    (kind, content), seconds, beats = asked.result()
    figures.note("time-out of a dialog", f"status {content.hex().upper()} after {seconds:.1f} s, {len(beats)} keepalives")
    assert (kind, content) == (wire.CBOR, b"\x2f")
    assert seconds > 29, "a person has half a minute"
    assert beats and {status for _, status in beats} <= {1, 2}
    key.pinentry.wait_for_no_dialog()
