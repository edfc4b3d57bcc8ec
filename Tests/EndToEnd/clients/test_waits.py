"""Prompts without an answer. The wait begins with the run (conftest.py), so it adds little time."""

from support import figures, wire


# Holds: PERSON-1
def test_another_request_ends_a_prompt_after_half_a_minute(waits):
    """The dialog stays until another client sends a request, which closes it: CTAP §6's USER_ACTION_TIMEOUT."""
    key, asked = waits
    (kind, content), seconds, is_after_other, beats = asked.result()
    figures.note("end of a dialog by another request", f"status {content.hex().upper()} after {seconds:.1f} s, {len(beats)} keepalives")
    assert (kind, content) == (wire.CBOR, b"\x2f")
    assert is_after_other, "nothing else ends it"
    assert beats and {status for _, status in beats} <= {1, 2}
    key.pinentry.wait_for_no_dialog()
