import CryptoPrimitives

/// The fingerprints that identify a peer's certificate in its session description: RFC 8122 §5.
///
/// There may be several, by several hash functions or of several certificates. Only those by the strongest function
/// count (§5.1). If a media section has fingerprints, those at session level do not count for it.
public struct CertificateFingerprints: Hashable, Sendable {
  /// The accepted hash functions: WebRTC has none below SHA-256 (RFC 8827 §6.5).
  enum HashFunction: String, CaseIterable, Sendable {
    case sha256 = "sha-256"
    case sha384 = "sha-384"
    case sha512 = "sha-512"

    /// The digest of a certificate: 32, 48 or 64 bytes.
    func hash(_ certificate: [UInt8]) -> [UInt8] {
      switch self {
      case .sha256: SHA256.hash(certificate)
      case .sha384: SHA384.hash(certificate)
      case .sha512: SHA512.hash(certificate)
      }
    }

    var size: Int {
      switch self {
      case .sha256: SHA256.size
      case .sha384: SHA384.size
      case .sha512: SHA512.size
      }
    }
  }

  /// Functions of RFC 8122's list that are refused: collisions with another certificate are feasible, or nearly so.
  private static let weakFunctions = ["sha-224", "sha-1", "md5", "md2"]

  let function: HashFunction
  let digests: Set<[UInt8]>

  /// Reads those of the data channel in a session description, which may be any text.
  public init(in text: String) throws(LiquidAuthError) {
    self = try SessionDescription(text).fingerprints
  }

  /// Takes the values of `a=fingerprint`, such as `sha-256 4A:AD:…`; malformed values are skipped.
  init(_ values: some Sequence<Substring>) throws(LiquidAuthError) {
    var digests: [HashFunction: Set<[UInt8]>] = [:]
    var weak: String?
    for value in values {
      let fields = value.split(separator: " ", omittingEmptySubsequences: false)
      guard fields.count == 2 else { continue }
      let name = fields[0].lowercased()
      if let function = HashFunction(rawValue: name), let digest = Self.bytes(fields[1]), digest.count == function.size
      {
        digests[function, default: []].insert(digest)
      } else {
        weak = weak ?? Self.weakFunctions.first { $0 == name }
      }
    }
    guard let function = HashFunction.allCases.last(where: { digests[$0] != nil }) else {
      throw weak.map(LiquidAuthError.weakFingerprint) ?? .noFingerprint
    }
    (self.function, self.digests) = (function, digests[function] ?? [])
  }

  /// Whether one of the fingerprints is that of this certificate (DER).
  public func contains(certificate: [UInt8]) -> Bool { digests.contains(function.hash(certificate)) }

  /// Decodes bytes of two hexadecimal digits each, separated by colons.
  private static func bytes(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    for digits in text.split(separator: ":", omittingEmptySubsequences: false) {
      guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit), let byte = UInt8(digits, radix: 16) else {
        return nil
      }
      bytes.append(byte)
    }
    return bytes
  }
}
