import CryptoPrimitives
import Recovery

/// Reads and writes a private key in PKCS #8 (RFC 5958): ECPrivateKey of P-256 (RFC 5915), or Ed25519 (RFC 8410).
enum PrivateKeyInfo {
  /// The algorithm, and the scalar or seed of 32 bytes.
  typealias Key = (algorithm: COSEAlgorithm, secret: SecretBytes)

  /// - Throws: a fault for another structure, another algorithm, which the reason names, a scalar out of range, or a public
  ///   key in the structure that does not match the private key.
  static func read(_ der: [UInt8]) throws(PasskeyFault) -> Key {
    var outer = DER(der, der.indices)
    var info = try outer.sequence()
    guard outer.isAtEnd else { throw PasskeyFault(malformed) }
    guard [[0], [1]].contains(try info.bytes(tag: DER.integer)) else { throw PasskeyFault(malformed) }
    var identifier = try info.sequence()
    let algorithm = try identifier.bytes(tag: DER.objectIdentifier)
    switch algorithm {
    case ecPublicKey:
      let curve = try identifier.bytes(tag: DER.objectIdentifier)
      guard curve == prime256v1 else {
        throw PasskeyFault("its key is of \(curves[curve] ?? "another elliptic curve"), which is not supported")
      }
      let place = try info.next(tag: DER.octetString)
      guard identifier.isAtEnd else { throw PasskeyFault(malformed) }
      return try ecKey(DER(der, place), publicKey: try info.publicKey())
    case ed25519:
      let place = try info.next(tag: DER.octetString)
      guard identifier.isAtEnd else { throw PasskeyFault(malformed) }
      var inner = DER(der, place)
      let seed = try inner.next(tag: DER.octetString)
      guard inner.isAtEnd, seed.count == Ed25519.keySize else { throw PasskeyFault(malformed) }
      let secret = SecretBytes(count: seed.count) { $0.copyBytes(from: der[seed]) }
      guard let key = try? Ed25519.PrivateKey(seed: secret) else {
        throw PasskeyFault("the private key cannot be used")
      }
      if let stated = try info.publicKey(), stated != key.publicKey { throw PasskeyFault(mismatch) }
      return (.edDSA, secret)
    default:
      throw PasskeyFault("its key is \(algorithms[algorithm] ?? "of another algorithm"), which is not supported")
    }
  }

  private static func ecKey(_ content: DER, publicKey: [UInt8]?) throws(PasskeyFault) -> Key {
    var content = content
    var key = try content.sequence()
    guard content.isAtEnd, try key.bytes(tag: DER.integer) == [1] else { throw PasskeyFault(malformed) }
    let scalar = try key.next(tag: DER.octetString)
    // Botan 2, which KeePassXC uses, omits leading zero bytes.
    guard 1...P256.fieldSize ~= scalar.count else { throw PasskeyFault(malformed) }
    if key.has(tag: 0xA0) {
      var parameters = DER(content.source, try key.next(tag: 0xA0))
      guard try parameters.bytes(tag: DER.objectIdentifier) == prime256v1, parameters.isAtEnd else {
        throw PasskeyFault(malformed)
      }
    }
    var stated: [[UInt8]] = publicKey.map { [$0] } ?? []
    if key.has(tag: 0xA1) {
      var field = DER(content.source, try key.next(tag: 0xA1))
      stated.append(try field.bits(tag: 0x03))
      guard field.isAtEnd else { throw PasskeyFault(malformed) }
    }
    guard key.isAtEnd else { throw PasskeyFault(malformed) }
    let secret = SecretBytes(count: P256.fieldSize) { bytes in
      let zeros = P256.fieldSize - scalar.count
      UnsafeMutableRawBufferPointer(rebasing: bytes[zeros...]).copyBytes(from: content.source[scalar])
    }
    guard let privateKey = try? P256.PrivateKey(scalar: secret) else {
      throw PasskeyFault("the private key cannot be used")
    }
    // 04 ‖ X ‖ Y; the compressed form is X with the parity of Y.
    let raw = privateKey.publicKey.raw
    for point in stated where point != [4] + raw && point != [2 + raw[63] % 2] + raw.prefix(32) {
      throw PasskeyFault(mismatch)
    }
    return (.es256, secret)
  }

  /// Writes a key as OpenSSL does: with the public key for P-256 (138 bytes), which some programs need, and without it for
  /// Ed25519 (48 bytes).
  ///
  /// - Returns: the structure, and the public key: X ‖ Y (64 bytes), or 32 bytes of Ed25519.
  /// - Throws: for a scalar that is out of range.
  static func write(_ key: Key) throws(PasskeyFault) -> (der: SecretBytes, publicKey: [UInt8]) {
    let (head, end, publicKey): ([UInt8], [UInt8], [UInt8])
    switch key.algorithm {
    case .es256:
      guard let privateKey = try? P256.PrivateKey(scalar: key.secret) else {
        throw PasskeyFault("the private key cannot be used")
      }
      publicKey = privateKey.publicKey.raw
      // SEQUENCE { 0, { ecPublicKey, prime256v1 }, OCTET STRING { SEQUENCE { 1, OCTET STRING, [1] BIT STRING } } }
      head =
        [0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07] + ecPublicKey + [0x06, 0x08] + prime256v1
        + [0x04, 0x6D, 0x30, 0x6B, 0x02, 0x01, 0x01, 0x04, 0x20]
      end = [0xA1, 0x44, 0x03, 0x42, 0x00, 0x04] + publicKey
    case .edDSA:
      guard let privateKey = try? Ed25519.PrivateKey(seed: key.secret) else {
        throw PasskeyFault("the private key cannot be used")
      }
      publicKey = privateKey.publicKey
      // SEQUENCE { 0, { Ed25519 }, OCTET STRING { OCTET STRING } }
      head =
        [0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03] + ed25519 + [0x04, 0x22, 0x04, 0x20]
      end = []
    }
    let der = SecretBytes(count: head.count + key.secret.count + end.count) { output in
      output.copyBytes(from: head)
      key.secret.withUnsafeBytes { secret in
        UnsafeMutableRawBufferPointer(rebasing: output[head.count..<head.count + secret.count]).copyMemory(from: secret)
      }
      UnsafeMutableRawBufferPointer(rebasing: output[(head.count + key.secret.count)...]).copyBytes(from: end)
    }
    return (der, publicKey)
  }

  private static let malformed = "its private key is not a valid PKCS #8 structure"
  private static let mismatch = "its public key does not match its private key"

  private static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
  private static let prime256v1: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
  private static let ed25519: [UInt8] = [0x2B, 0x65, 0x70]
  private static let curves: [[UInt8]: String] = [
    [0x2B, 0x81, 0x04, 0x00, 0x22]: "P-384", [0x2B, 0x81, 0x04, 0x00, 0x23]: "P-521",
    [0x2B, 0x81, 0x04, 0x00, 0x0A]: "secp256k1",
  ]
  private static let algorithms: [[UInt8]: String] = [
    [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]: "an RSA key", [0x2B, 0x65, 0x71]: "an Ed448 key",
  ]

  /// A reader of DER (ITU-T X.690): lengths must be definite, and in their shortest form.
  fileprivate struct DER {
    static let integer: UInt8 = 0x02
    static let octetString: UInt8 = 0x04
    static let objectIdentifier: UInt8 = 0x06

    let source: [UInt8]
    private var offset: Int
    private let end: Int

    init(_ source: [UInt8], _ range: Range<Int>) {
      (self.source, offset, end) = (source, range.lowerBound, range.upperBound)
    }

    var isAtEnd: Bool { offset == end }

    func has(tag: UInt8) -> Bool { offset < end && source[offset] == tag }

    /// The place of the content of the next value.
    mutating func next(tag: UInt8) throws(PasskeyFault) -> Range<Int> {
      guard has(tag: tag), offset + 1 < end else { throw PasskeyFault(malformed) }
      var (length, start) = (Int(source[offset + 1]), offset + 2)
      if length >= 0x80 {
        let count = length - 0x80
        guard 1...2 ~= count, start + count <= end else { throw PasskeyFault(malformed) }
        length = source[start..<start + count].reduce(0) { $0 << 8 | Int($1) }
        guard length >= (count == 1 ? 0x80 : 0x100) else { throw PasskeyFault(malformed) }
        start += count
      }
      guard length <= end - start else { throw PasskeyFault(malformed) }
      offset = start + length
      return start..<offset
    }

    mutating func bytes(tag: UInt8) throws(PasskeyFault) -> [UInt8] { Array(source[try next(tag: tag)]) }

    mutating func sequence() throws(PasskeyFault) -> DER { DER(source, try next(tag: 0x30)) }

    /// A bit string of whole bytes.
    mutating func bits(tag: UInt8) throws(PasskeyFault) -> [UInt8] {
      let bytes = try bytes(tag: tag)
      guard bytes.first == 0 else { throw PasskeyFault(malformed) }
      return Array(bytes.dropFirst())
    }

    /// Reads what follows the private key in OneAsymmetricKey: skips the attributes, and returns the public key, if any.
    mutating func publicKey() throws(PasskeyFault) -> [UInt8]? {
      if has(tag: 0xA0) { _ = try next(tag: 0xA0) }
      let key = has(tag: 0x81) ? try bits(tag: 0x81) : nil
      guard isAtEnd else { throw PasskeyFault(malformed) }
      return key
    }
  }
}

/// Reads the encodings of binary values in texts.
enum Encoded {
  /// Reads canonical base64url without padding (RFC 4648 §5).
  static func base64URL(_ text: [UInt8], _ what: String) throws(PasskeyFault) -> [UInt8] {
    guard let bytes = Base64URL.decode(text) else { throw PasskeyFault("\(what) is not base64url without padding") }
    return bytes
  }

  /// Reads a private key in PEM (RFC 7468): `-----BEGIN PRIVATE KEY-----`.
  static func privateKey(pem: [UInt8]) throws(PasskeyFault) -> PrivateKeyInfo.Key {
    let (begin, end) = (Array("-----BEGIN PRIVATE KEY-----".utf8), Array("-----END PRIVATE KEY-----".utf8))
    let text = pem.drop(while: isSpace)
    let trimmed = text.prefix((text.lastIndex { !isSpace($0) } ?? text.startIndex - 1) - text.startIndex + 1)
    guard trimmed.starts(with: begin), trimmed.suffix(end.count).elementsEqual(end),
      trimmed.count >= begin.count + end.count
    else { throw PasskeyFault("its private key is not in PEM with the label PRIVATE KEY") }
    // It does not move, so that no copy of the key stays.
    var body: [UInt8] = []
    body.reserveCapacity(trimmed.count)
    defer { wipe(&body) }
    for byte in trimmed.dropFirst(begin.count).dropLast(end.count) where !isSpace(byte) { body.append(byte) }
    let padding = body.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding <= 2, body.count.isMultiple(of: 4) else { throw PasskeyFault("its private key is not valid PEM") }
    body.removeLast(padding)
    for index in body.indices {
      switch body[index] {
      case UInt8(ascii: "+"): body[index] = UInt8(ascii: "-")
      case UInt8(ascii: "/"): body[index] = UInt8(ascii: "_")
      case UInt8(ascii: "-"), UInt8(ascii: "_"): throw PasskeyFault("its private key is not valid PEM")
      default: break
      }
    }
    guard var der = Base64URL.decode(body) else { throw PasskeyFault("its private key is not valid PEM") }
    defer { wipe(&der) }
    return try PrivateKeyInfo.read(der)
  }

  /// Reads a private key in base64url of DER; wipes the text.
  static func privateKey(base64URL text: consuming [UInt8]) throws(PasskeyFault) -> PrivateKeyInfo.Key {
    defer { wipe(&text) }
    var der = try base64URL(text, "its private key")
    defer { wipe(&der) }
    return try PrivateKeyInfo.read(der)
  }

  /// `2025-01-31T12:34:56Z`, with any fraction of a second, as Unix milliseconds; `nil` for another text.
  static func time(_ text: String) -> UInt64? {
    let bytes = Array(text.utf8)
    guard 20...40 ~= bytes.count, bytes.last == UInt8(ascii: "Z"), bytes[4] == UInt8(ascii: "-"),
      bytes[7] == UInt8(ascii: "-"), bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"),
      bytes[16] == UInt8(ascii: ":")
    else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      bytes[range].allSatisfy(isDigit) ? bytes[range].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } : nil
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), year >= 1970, 1...12 ~= month, 1...31 ~= day,
      hour < 24, minute < 60, second <= 60
    else { return nil }
    var milliseconds = 0
    let fraction = bytes[19..<bytes.count - 1]
    if !fraction.isEmpty {
      guard fraction.first == UInt8(ascii: "."), fraction.count > 1, fraction.dropFirst().allSatisfy(isDigit) else {
        return nil
      }
      for (digit, weight) in zip(fraction.dropFirst(), [100, 10, 1]) {
        milliseconds += Int(digit - UInt8(ascii: "0")) * weight
      }
    }
    // Days from 1970-01-01, with years that begin in March.
    let (y, m) = (month > 2 ? year : year - 1, (month + 9) % 12)
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468
    return UInt64(((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + UInt64(milliseconds)
  }
}
