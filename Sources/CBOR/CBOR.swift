// CBOR
