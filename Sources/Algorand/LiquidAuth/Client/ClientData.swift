import CryptoPrimitives

/// The kind of ceremony: a server's pair of endpoints, and a CTAP2 command.
public enum LiquidCeremony: String, Sendable {
  /// A new passkey, confirmed by the Algorand account: `/attestation`, authenticatorMakeCredential.
  case registration
  /// A passkey that the server knows: `/assertion`, authenticatorGetAssertion.
  case authentication

  /// The `type` of the client data: WebAuthn §5.8.1.
  var clientDataType: String {
    switch self {
    case .registration: "webauthn.create"
    case .authentication: "webauthn.get"
    }
  }
}

/// A server's challenge, which passkey and Algorand account sign.
public struct Challenge: Hashable, Sendable {
  /// The 43 characters that the server sent, and compares.
  public let text: String
  /// The 32 bytes that they encode.
  public let bytes: [UInt8]

  /// Takes 32 bytes in canonical base64url.
  ///
  /// The authenticator, which has the list of reserved prefixes, refuses challenges that begin with one (Recovery §11).
  public init(_ text: String) throws(LiquidAuthError) {
    guard text.utf8.count == 43, let bytes = Base64URL.decode(text.utf8) else { throw .challengeForm }
    self.text = text
    self.bytes = bytes
  }
}

/// The client data of a ceremony: WebAuthn §5.8.1, in one of the exact forms of Recovery §11.
///
/// The bytes are made once and sent as they were hashed: another JSON encoding could differ.
public struct ClientData: Hashable, Sendable {
  /// `{"type":"…","challenge":"…","origin":"…"}`, with no other members and no spaces.
  public let json: [UInt8]

  /// Writes the client data of one ceremony.
  ///
  /// - Throws: `unsignedOrigin` unless the origin is `http://localhost`, or `https:` with a host other than an IPv6
  ///   address.
  public init(_ ceremony: LiquidCeremony, challenge: Challenge, origin: WebOrigin) throws(LiquidAuthError) {
    guard origin.isSignedFor else { throw .unsignedOrigin(origin.serialized) }
    // No part can contain a quotation mark or a backslash: a constant, base64url, and the characters of an origin.
    json = Array(
      #"{"type":"\#(ceremony.clientDataType)","challenge":"\#(challenge.text)","origin":"\#(origin.serialized)"}"#.utf8)
  }

  /// clientDataHash: SHA-256 of the bytes.
  public var hash: [UInt8] { SHA256.hash(json) }
}

extension WebOrigin {
  /// Whether `liquid` signs client data of this origin: `https:` without a bracketed address, or `http://localhost`
  /// (Recovery §11, E2).
  var isSignedFor: Bool {
    switch scheme {
    case .https: !host.hasPrefix("[")
    case .http: host == "localhost"
    }
  }
}
