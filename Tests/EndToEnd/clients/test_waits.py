"""Prompts without an answer. The wait begins with the run (conftest.py), so it adds little time."""

from clients.conftest import OTHER_REQUEST
from support import figures, wire


# Holds: PERSON-1
def test_another_request_ends_a_prompt_after_half_a_minute(waits):
    """The dialog stays until another client sends a request, which closes it: CTAP §6's USER_ACTION_TIMEOUT."""
    key, asked = waits
    (kind, content), seconds, beats = asked.result()
    figures.note("end of a dialog by another request", f"status {content.hex().upper()} after {seconds:.1f} s, {len(beats)} keepalives")
    assert (kind, content) == (wire.CBOR, b"\x2f")
    assert seconds > OTHER_REQUEST, "nothing else ends it; a slow machine can only make it longer"
    assert beats and {status for _, status in beats} <= {1, 2}
    key.pinentry.wait_for_no_dialog()
