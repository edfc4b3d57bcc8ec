/// What a newer server gives a wallet at a sign-in, so that later connections to the dApp need none.
///
/// It is a durable pairing, version 2, and is sent to the server's signaling as Socket.IO's `auth`. Its credential is a
/// bearer token: whoever has it is connected as this wallet.
public struct DurablePairing: Equatable, Sendable {
  /// The only version.
  public static let version = 2
  /// The role of a wallet.
  public static let role = "controller"
  /// The most bytes of a credential.
  public static let maximumCredentialSize = 1024

  /// The public id of the pairing, which is the dApp's request.
  public let pairingID: String
  /// The token: visible ASCII.
  public let credential: String

  /// Takes the parts of a pairing that was kept; `nil` if the id is no request's, or the credential is not 1 to 1024
  /// visible ASCII characters.
  public init?(pairingID: String, credential: String) {
    guard RequestID(pairingID) != nil, Self.isCredential(credential) else { return nil }
    (self.pairingID, self.credential) = (pairingID, credential)
  }

  private static func isCredential(_ text: String) -> Bool {
    1...maximumCredentialSize ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  /// The JSON object for Socket.IO's `auth`, which has the token.
  func auth() throws(JSONError) -> String {
    let form = Form(version: Self.version, pairingId: pairingID, role: Self.role, credential: credential)
    return String(decoding: try JSONCoding.encode(form), as: UTF8.self)
  }
}

extension DurablePairing: Decodable {
  /// The server's form.
  private struct Form: Codable {
    let version: Int
    let pairingId: String
    let role: String
    let credential: String
  }

  /// Reads the server's form; another version or role, or malformed parts, are errors.
  public init(from decoder: any Decoder) throws {
    let form = try Form(from: decoder)
    guard form.version == Self.version, form.role.isSame(as: Self.role),
      let pairing = Self(pairingID: form.pairingId, credential: form.credential)
    else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "no pairing of a wallet"))
    }
    self = pairing
  }
}

extension DurablePairing: CustomStringConvertible, CustomReflectable {
  /// The public id only, so that the token stays secret in a log.
  public var description: String { "DurablePairing(\(pairingID))" }

  /// No children: a dump shows no more than ``description``.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
