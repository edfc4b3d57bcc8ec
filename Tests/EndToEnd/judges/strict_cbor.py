"""A decoder for CTAP2's canonical CBOR that refuses everything else (CTAP §8), independent of the product and cbor2.

Shortest heads, definite lengths, no tags, no floats, false and true as the only simple values, text in UTF-8, map keys
strictly ascending by (major type, length of the encoding, bytes), containers nested at most 4 deep, nothing after the
item. CTAP2 allows floats and null, but we never send them, so they are refused too.
"""


class NotCanonical(ValueError):
    """The input is not canonical; the message names the fault and its byte."""


def decode(data: bytes, maximum_depth: int = 4):
    """Decode the only item of `data`: int, bytes, str, list, dict or bool."""
    value, end = _item(data, 0, maximum_depth)
    if end != len(data):
        raise NotCanonical(f"{len(data) - end} bytes after the item, at {end}")
    return value


def _item(data, at, depth):
    major, argument, at = _head(data, at)
    if major == 0:
        return argument, at
    if major == 1:
        return -1 - argument, at
    if major in (2, 3):
        content = _take(data, at, argument)
        return (bytes(content) if major == 2 else _text(content, at)), at + argument
    if major == 7:
        if argument not in (20, 21):
            raise NotCanonical(f"simple value {argument} before {at}")
        return argument == 21, at
    if major == 6:
        raise NotCanonical(f"tag {argument} before {at}")
    if depth == 0:
        raise NotCanonical(f"nested too deeply at {at}")
    return (_array if major == 4 else _map)(data, at, argument, depth - 1)


def _array(data, at, count, depth):
    items = []
    for _ in range(count):
        item, at = _item(data, at, depth)
        items.append(item)
    return items, at


def _map(data, at, count, depth):
    pairs, last = {}, None
    for _ in range(count):
        start = at
        key, at = _item(data, at, depth)
        if isinstance(key, (list, dict)):
            raise NotCanonical(f"a container as a map key at {start}")
        encoded = data[start:at]
        order = (encoded[0] >> 5, len(encoded), encoded)
        if last is not None and order <= last:
            raise NotCanonical(f"map key {key!r} out of order or twice at {start}")
        last = order
        # In Python True equals 1 and False equals 0; CTAP has no boolean keys.
        if isinstance(key, bool):
            key = ("bool", key)
        pairs[key], at = _item(data, at, depth)
    return pairs, at


def _head(data, at):
    first = _take(data, at, 1)[0]
    at += 1
    major, info = first >> 5, first & 0x1F
    if info < 24:
        return major, info, at
    if info > 27:
        raise NotCanonical(f"indefinite length or reserved head {first:02x} at {at - 1}")
    size = 1 << info - 24
    argument = int.from_bytes(_take(data, at, size), "big")
    if major == 7:
        raise NotCanonical(f"float or long simple value at {at - 1}")
    if argument < (24 if size == 1 else 1 << 4 * size):
        raise NotCanonical(f"{argument} in {size} bytes is not the shortest form, at {at - 1}")
    return major, argument, at + size


def _take(data, at, count):
    if at + count > len(data):
        raise NotCanonical(f"cut off: {count} bytes wanted at {at} of {len(data)}")
    return data[at : at + count]


def _text(content, at):
    try:
        return content.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        raise NotCanonical(f"text that is not UTF-8 at {at}") from error


class Reader:
    """Reads a device's messages strictly, and counts them."""

    def __init__(self):
        self.messages = 0
        self.octets = 0

    def response(self, message: bytes):
        """Read a CTAP2 response: the status byte, then nothing or one item. Return both."""
        if not message:
            raise NotCanonical("an empty response")
        if message[0] and len(message) > 1:
            raise NotCanonical(f"status {message[0]:02X} with {len(message) - 1} bytes after it")
        content = decode(message[1:]) if len(message) > 1 else None
        # COSE keys and extension outputs are inside authData, a byte string in CBOR. A token of clientPIN is a byte
        # string too, and the only member.
        if isinstance(content, dict) and isinstance(content.get(2), bytes) and 3 in content:
            authenticator_data(content[2])
        self.messages += 1
        self.octets += len(message)
        return message[0], content


def authenticator_data(data: bytes):
    """Split authData (WebAuthn §6.1) and read its CBOR parts strictly.

    Returns (rpIdHash, flags, signCount, aaguid, credential id, COSE key, extensions); the last four may be None.
    """
    flags, at = data[32], 37
    aaguid = credential_id = key = extensions = None
    if flags & 0x40:
        length = int.from_bytes(data[53:55], "big")
        aaguid, credential_id = data[37:53], bytes(_take(data, 55, length))
        key, at = _item(data, 55 + length, 4)
    if flags & 0x80:
        extensions, at = _item(data, at, 4)
    if at != len(data):
        raise NotCanonical(f"{len(data) - at} bytes of authData that no flag announces")
    return data[:32], flags, int.from_bytes(data[33:37], "big"), aaguid, credential_id, key, extensions
