public import CBOR
import Recovery

// Decoders of the wire types in this folder, for relying parties.

extension AuthenticatorData {
  /// Reads authenticator data, to the last byte: WebAuthn §6.1.
  ///
  /// - Throws: ``/CBOR/CBORError/invalid(_:)`` if a part is missing, left over, or does not match its flag.
  public init(parsing bytes: [UInt8]) throws(CBORError) {
    var rest = bytes[...]
    guard let rpIDHash = RPIDHash(bytes: try rest.take(32)) else { throw .invalid("no rpIdHash") }
    let flags = Flags(rawValue: try rest.take(1)[0])
    let signCount = UInt32(bigEndianBytes: try rest.take(4))
    let attested = flags.contains(.attestedCredentialData) ? try AttestedCredentialData(taking: &rest) : nil
    var extensions = CBORMap()
    if flags.contains(.extensionData) {
      guard let map = try CBORDecoder.decode(Array(rest)).map, !map.isEmpty else {
        throw .invalid("the ED flag without extension outputs")
      }
      extensions = map
      rest = []
    }
    guard rest.isEmpty else { throw .invalid("\(rest.count) bytes after the authenticator data") }
    self.init(
      rpIDHash: rpIDHash, flags: flags, signCount: signCount, attestedCredentialData: attested, extensions: extensions)
  }
}

extension AttestedCredentialData {
  /// Takes attested credential data off the front: WebAuthn §6.5.1.
  fileprivate init(taking rest: inout ArraySlice<UInt8>) throws(CBORError) {
    let aaguid = AAGUID(bytes: try rest.take(16))
    let credentialID = try rest.take(Int(UInt16(bigEndianBytes: try rest.take(2))))
    // The end of a CBOR item is known only after decoding, but the keys of an algorithm have a fixed length.
    for algorithm in COSEAlgorithm.allCases {
      let encoding = Array(rest.prefix(COSEKey.encodedLength(algorithm)))
      guard let map = try? CBORDecoder.decode(encoding).map, let key = try? COSEKey(map) else { continue }
      rest = rest.dropFirst(encoding.count)
      self.init(aaguid: aaguid, credentialID: credentialID, publicKey: key)
      return
    }
    throw .invalid("a credential without a supported public key")
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func take(_ count: Int) throws(CBORError) -> [UInt8] {
    guard self.count >= count else { throw .invalid("the authenticator data end too early") }
    defer { self = dropFirst(count) }
    return Array(prefix(count))
  }
}
