"""Prompts without an answer. The wait begins with the run (conftest.py), so it adds little time."""

from support import figures, wire


# Holds: PERSON-1, MGMT-30, TIME-1
def test_a_prompt_times_out_after_half_a_minute(waits):
    """After half a minute, CTAP §6's USER_ACTION_TIMEOUT, the dialog closes."""
    key, asked = waits
    (kind, content), seconds, beats = asked.result()
    figures.note("time-out of a dialog", f"status {content.hex().upper()} after {seconds:.1f} s, {len(beats)} keepalives")
    assert (kind, content) == (wire.CBOR, b"\x2f")
    assert seconds > 29, "a person has half a minute; a slow machine can only make it longer"
    assert beats and {status for _, status in beats} <= {1, 2}
    key.pinentry.wait_for_no_dialog()
