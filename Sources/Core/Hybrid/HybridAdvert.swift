import CBOR
package import CryptoPrimitives

extension FIDOURI {
  /// The keys that a code's secret gives, CTAP §11.5.1: HKDF with a number for each purpose.
  private enum Purpose: UInt8 {
    case eidKey = 1
    case tunnelID = 2
    case preSharedKey = 3
  }

  /// The key of the advert, 64 bytes: a key of AES-256, then one of HMAC-SHA-256.
  package var eidKey: SecretBytes { derive(.eidKey, salt: [], count: 64) }

  /// The tunnel ID, which names the exchange at the tunnel service, 16 bytes.
  package var tunnelID: [UInt8] { derive(.tunnelID, salt: [], count: 16).withUnsafeBytes { Array($0) } }

  /// The pre-shared key of the handshake, 32 bytes; it needs both the code and the advert.
  package func preSharedKey(_ eid: EID) -> SecretBytes { derive(.preSharedKey, salt: eid.bytes, count: 32) }

  private func derive(_ purpose: Purpose, salt: [UInt8], count: Int) -> SecretBytes {
    HKDFSHA256.derive(key: secret, salt: salt, info: [purpose.rawValue, 0, 0, 0], count: count)
  }
}

/// The content of the authenticator's BLE advert, for the browser that shows the code (CTAP §11.5.1, "EID").
package struct EID: Equatable, Sendable {
  package static let nonceSize = 10
  package static let routingIDSize = 3
  /// Bytes in an advert's service data: the EID and its tag.
  package static let sealedSize = 20

  /// Fresh random bytes, 10, in each advert.
  package let nonce: [UInt8]
  /// The id that the tunnel service gave the exchange, 3 bytes.
  package let routingID: [UInt8]
  /// The number of the tunnel service.
  package let service: TunnelService

  /// Makes the EID of one advert.
  ///
  /// - Parameter nonce: 10 random bytes.
  package init(routingID: [UInt8], service: TunnelService, nonce: [UInt8] = randomBytes(nonceSize)) {
    (self.nonce, self.routingID, self.service) = (nonce, routingID, service)
  }

  /// 00, nonce, routing id, and the service in little-endian: 16 bytes.
  package var bytes: [UInt8] { [0] + nonce + routingID + service.bytes }

  /// The service data of the advert, 20 bytes: one block of AES-256, and 4 bytes of its tag.
  package func sealed(_ key: SecretBytes) throws(CryptoError) -> [UInt8] {
    let plain = bytes.withUnsafeBytes { SecretBytes(copying: $0) }
    // One block in CBC with a vector of zeros is a block in ECB.
    let block = try AESCBC.encrypt(plain, key: key.part(0..<32), initializationVector: Self.zeros)
    return block + Self.tag(block, key)
  }

  /// Reads service data, as the browser does; bytes after the first 20 are not authenticated, and are skipped.
  ///
  /// `nil` for the advert of another code, and for one that browsers must not accept.
  package init?(sealed data: [UInt8], key: SecretBytes) {
    let block = Array(data.prefix(AESCBC.blockSize))
    guard data.count >= Self.sealedSize, constantTimeEqual(Array(data[16..<20]), Self.tag(block, key)),
      let plain = try? AESCBC.decrypt(block, key: key.part(0..<32), initializationVector: Self.zeros)
    else { return nil }
    let bytes = plain.withUnsafeBytes { Array($0) }
    guard bytes[0] == 0, let service = TunnelService(UInt16(bytes[14]) | UInt16(bytes[15]) << 8) else { return nil }
    self.init(routingID: Array(bytes[11..<14]), service: service, nonce: Array(bytes[1..<11]))
  }

  /// The suffix of the service data of a machine that listens, CTAP §11.5.1.1.2: the number of the channel, and its PSM.
  ///
  /// It is neither encrypted nor authenticated, so it proves nothing.
  package static func suffix(psm: UInt16) -> [UInt8] {
    CBOREncoder.encode(.map([.unsigned(HybridSession.Channel.bluetooth.rawValue): .unsigned(UInt64(psm))]))
  }

  private static let zeros = [UInt8](repeating: 0, count: AESCBC.blockSize)

  private static func tag(_ block: [UInt8], _ key: SecretBytes) -> [UInt8] {
    Array(HMACSHA256.authenticate(block, key: key.part(32..<64)).prefix(4))
  }
}

/// A tunnel service by its number, CTAP §11.5.1.2.
public struct TunnelService: Hashable, Sendable {
  /// The number: below 256 it is assigned; from 256 on, the host's name is derived from it.
  public let number: UInt16

  /// The hosts with assigned numbers.
  private static let assigned = ["cable.ua5v.com", "cable.auth.com"]

  /// `nil` for a number below 256 that is not assigned.
  public init?(_ number: UInt16) {
    guard number >= 256 || number < Self.assigned.count else { return nil }
    self.number = number
  }

  /// The name of the host.
  public var host: String {
    if number < 256 { return Self.assigned[Int(number)] }
    let digest = SHA256.hash(Array("caBLEv2 tunnel server domain".utf8), bytes + [0])
    var value = digest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let ending = ["com", "org", "net", "info"][Int(value & 3)]
    let letters = Array("abcdefghijklmnopqrstuvwxyz234567")
    var name = ""
    value >>= 2
    while value != 0 {
      name.append(letters[Int(value & 31)])
      value >>= 5
    }
    return "cable.\(name).\(ending)"
  }

  /// Whether the browser of this link knows the service: it says how many assigned services it knows.
  func isKnown(to link: FIDOURI) -> Bool { number >= 256 || UInt64(number) < link.knownTunnelServices ?? 1 }

  var bytes: [UInt8] { [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }
}

extension SecretBytes {
  /// A copy of some of the bytes.
  func part(_ range: Range<Int>) -> SecretBytes {
    withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
  }
}
