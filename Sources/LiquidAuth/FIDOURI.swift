import CBOR

/// The link in a browser's QR code for a phone: `FIDO:/` and the digits of a CBOR map, hybrid transports of CTAP 2.2 and 2.3
/// (§11.5).
public struct FIDOURI: Equatable, Sendable {
  /// The purpose of the browser's request.
  public enum Hint: String, Sendable {
    /// A sign-in.
    case getAssertion = "ga"
    /// A registration.
    case makeCredential = "mc"
  }

  /// The prefix of a link; case-insensitive, because QR codes are smaller in upper case.
  public static let scheme = "FIDO:/"
  /// Bytes in `publicKey`.
  public static let publicKeySize = 33
  /// Bytes in the secret that QR code and phone share.
  public static let secretSize = 16

  /// The browser's P-256 key for one conversation, compressed: 02 or 03, then X.
  public let publicKey: [UInt8]
  /// The number of tunnel servers that the browser knows by number.
  public let knownTunnelServers: UInt64?
  /// When the code was made, Unix seconds.
  public let created: UInt64?
  /// Whether the browser can remember the phone, so that no code is needed the next time.
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
  /// Only key and secret can make a link invalid: unknown members are skipped, and so are those of another type. The secret
  /// is checked and discarded: with it, anybody could pose as the phone, and nothing here needs it.
  public init(_ text: String) throws(LiquidAuthError) {
    // As bytes: beyond ASCII, other letters have these capitals too.
    let (scheme, digits) = (text.utf8.prefix(Self.scheme.utf8.count), text.utf8.dropFirst(Self.scheme.utf8.count))
    guard scheme.isEqualIgnoringCase(to: Self.scheme.utf8) else { throw .noFIDOLink }
    let map = try Self.map(of: Base10.decode(digits))
    do throws(CBORError) {
      publicKey = try map.requiredBytes(0)
      let secret = try map.requiredBytes(1)
      knownTunnelServers = map[2]?.unsigned
      created = map[3]?.unsigned
      supportsLinking = map[4]?.bool
      hint = map[5]?.text.flatMap(Hint.init)
      supportsNonDiscoverable = map[6]?.bool
      let listed = map[6]?.array ?? []
      channels = listed.isEmpty ? [0] : listed.compactMap(\.unsigned).filter { $0 <= 1 }
      guard publicKey.count == Self.publicKeySize, [2, 3].contains(publicKey[0]) else { throw .missing("a public key") }
      guard secret.count == Self.secretSize else { throw .missing("a secret of 16 bytes") }
    } catch {
      throw .fidoContent
    }
  }

  private static func map(of bytes: [UInt8]) throws(LiquidAuthError) -> CBORMap {
    do throws(CBORError) {
      guard let map = try CBORDecoder.decode(bytes).map else { throw .unexpectedType("it is not a map") }
      return map
    } catch {
      throw .fidoContent
    }
  }
}

extension LiquidAuthError {
  /// The text does not begin with `FIDO:/`.
  static let noFIDOLink = Self("this is not a FIDO:/ link", hint: "copy the link from the browser's code")

  /// The rest is not the decimal digits of a number of bytes.
  static let fidoDigits = Self("the FIDO:/ link is incomplete", hint: "scan the code again")

  /// The bytes are not the map of such a link.
  static let fidoContent = Self(
    "the content of the FIDO:/ link is invalid", hint: "scan the code again")
}

/// Decimal digits that encode bytes compactly in QR codes: 7 bytes, little-endian, are 17 digits.
enum Base10 {
  /// The number of digits for 0 to 7 bytes; other numbers are invalid.
  private static let digits = [0, 3, 5, 8, 10, 13, 15, 17]
  private static let chunk = 7

  /// - Throws: `fidoDigits` for a character other than a digit, a wrong number of digits, or a value that is too large.
  static func decode(_ text: some Collection<UInt8>) throws(LiquidAuthError) -> [UInt8] {
    var (bytes, rest) = ([UInt8](), text[...])
    while !rest.isEmpty {
      let count = min(rest.count, digits[chunk])
      guard let size = digits.firstIndex(of: count) else { throw .fidoDigits }
      bytes += try number(rest.prefix(count), size: size)
      rest = rest.dropFirst(count)
    }
    return bytes
  }

  private static func number(_ digits: some Collection<UInt8>, size: Int) throws(LiquidAuthError) -> [UInt8] {
    var value: UInt64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { throw .fidoDigits }
      value = value * 10 + UInt64(digit - UInt8(ascii: "0"))
    }
    guard value >> (8 * UInt64(size)) == 0 else { throw .fidoDigits }
    return (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }
}
