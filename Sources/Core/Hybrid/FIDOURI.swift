import CBOR
public import CryptoPrimitives

/// The link in a browser's QR code for another device: `FIDO:/` and the digits of a CBOR map, hybrid transports of CTAP 2.2
/// and 2.3 (§11.5).
public struct FIDOURI: Equatable, Sendable {
  /// The purpose of the browser's request.
  ///
  /// It is only a hint: the browser may send another request.
  public enum Hint: String, Sendable {
    /// A sign-in.
    case getAssertion = "ga"
    /// A registration.
    case makeCredential = "mc"
    /// The presentation of a digital credential.
    case credentialPresentation = "dcp"
    /// The issuance of a digital credential.
    case credentialIssuance = "dci"
  }

  /// The prefix of a link; case-insensitive, because QR codes are smaller in upper case.
  public static let scheme = "FIDO:/"
  /// Bytes in the secret that the code gives away.
  public static let secretSize = 16

  /// The browser's P-256 key for one exchange.
  public let clientKey: P256.PublicKey
  /// The secret of the code: whoever has it can pose as the authenticator.
  public let secret: SecretBytes
  /// The number of assigned tunnel services that the browser knows.
  public let knownTunnelServices: UInt64?
  /// When the code was made, Unix seconds.
  public let created: UInt64?
  /// Whether the browser can remember the other device, so that no code is needed the next time.
  public let supportsLinking: Bool?
  /// The purpose; `nil` if absent or unknown.
  public let hint: Hint?
  /// Whether the browser takes a credential that is not discoverable: CTAP 2.2.
  public let supportsNonDiscoverable: Bool?
  /// The known channels that the browser can use: 0 is the web socket, 1 is Bluetooth (L2CAP).
  ///
  /// CTAP 2.3 lists them in place of the member before; without a list, it is the web socket.
  public let channels: [UInt64]

  /// Reads a link.
  ///
  /// Only key and secret can make a link invalid: unknown members, and other members of a wrong type, are ignored.
  public init(_ text: String) throws(HybridError) {
    // Compared as bytes: letters outside ASCII can also have these letters as upper case.
    let (scheme, digits) = (text.utf8.prefix(Self.scheme.utf8.count), text.utf8.dropFirst(Self.scheme.utf8.count))
    guard Self.isScheme(scheme) else { throw .noLink }
    let map = try Self.map(of: Base10.decode(digits))
    guard let key = map[0]?.bytes, var secret = map[1]?.bytes, secret.count == Self.secretSize else { throw .content }
    do throws(CryptoError) {
      clientKey = try P256.PublicKey(compressed: key)
    } catch {
      throw .content
    }
    self.secret = SecretBytes(consuming: &secret)
    knownTunnelServices = map[2]?.unsigned
    created = map[3]?.unsigned
    supportsLinking = map[4]?.bool
    hint = map[5]?.text.flatMap(Hint.init)
    supportsNonDiscoverable = map[6]?.bool
    let listed = map[6]?.array ?? []
    channels = listed.isEmpty ? [0] : listed.compactMap(\.unsigned).filter { $0 <= 1 }
  }

  private static func isScheme(_ text: some Collection<UInt8>) -> Bool {
    text.elementsEqual(scheme.utf8) { byte, letter in
      byte == letter || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letter) && byte == letter | 0x20
    }
  }

  private static func map(of bytes: [UInt8]) throws(HybridError) -> CBORMap {
    guard let map = (try? CBORDecoder.decode(bytes))?.map else { throw .content }
    return map
  }
}

/// Decimal digits that encode bytes compactly in QR codes: 7 bytes, little-endian, are 17 digits.
enum Base10 {
  /// The number of digits for 0 to 7 bytes; other numbers are invalid.
  private static let digits = [0, 3, 5, 8, 10, 13, 15, 17]
  private static let chunk = 7

  /// - Throws: `digits` for a character other than a digit, a wrong number of digits, or a value that is too large.
  static func decode(_ text: some Collection<UInt8>) throws(HybridError) -> [UInt8] {
    var (bytes, rest) = ([UInt8](), text[...])
    while !rest.isEmpty {
      let count = min(rest.count, digits[chunk])
      guard let size = digits.firstIndex(of: count) else { throw .digits }
      bytes += try number(rest.prefix(count), size: size)
      rest = rest.dropFirst(count)
    }
    return bytes
  }

  private static func number(_ digits: some Collection<UInt8>, size: Int) throws(HybridError) -> [UInt8] {
    var value: UInt64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { throw .digits }
      value = value * 10 + UInt64(digit - UInt8(ascii: "0"))
    }
    guard value >> (8 * UInt64(size)) == 0 else { throw .digits }
    return (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }
}
