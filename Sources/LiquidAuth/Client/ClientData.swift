import CryptoPrimitives
import Recovery

/// What a ceremony is: a server's two pairs of endpoints, and CTAP2's two commands.
public enum LiquidCeremony: String, Sendable {
  /// A new passkey, with the Algorand account's word that it is its own: `/attestation`, authenticatorMakeCredential.
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

/// A server's challenge, as passkey and Algorand account sign it.
public struct Challenge: Hashable, Sendable {
  /// The 43 characters that the server sent, and compares.
  public let text: String
  /// The 32 bytes that they stand for.
  public let bytes: [UInt8]

  /// Takes 32 bytes in canonical base64url.
  ///
  /// What begins as something else of Algorand does is for the authenticator to refuse, which has the list (Recovery §11).
  public init(_ text: String) throws(LiquidAuthError) {
    guard text.utf8.count == 43, let bytes = Base64URL.decode(text.utf8) else { throw .challengeForm }
    self.text = text
    self.bytes = bytes
  }
}

/// What a ceremony's signatures are bound to: WebAuthn §5.8.1, in one of the exact forms of Recovery §11.
///
/// The bytes are made once and sent as they were hashed: whoever writes JSON a second time may write it otherwise.
public struct ClientData: Hashable, Sendable {
  /// `{"type":"…","challenge":"…","origin":"…"}`, nothing more and no space between.
  public let json: [UInt8]

  /// Writes the client data of one ceremony.
  ///
  /// - Throws: `unsignedOrigin` unless the origin is `http://localhost`, or `https:` with a host that is no IPv6
  ///   address.
  public init(_ ceremony: LiquidCeremony, challenge: Challenge, origin: WebOrigin) throws(LiquidAuthError) {
    guard origin.isSignedFor else { throw .unsignedOrigin(origin.serialized) }
    // No part can hold a quotation mark or a backslash: a word of ours, base64url, and an origin's characters.
    json = Array(
      #"{"type":"\#(ceremony.clientDataType)","challenge":"\#(challenge.text)","origin":"\#(origin.serialized)"}"#.utf8)
  }

  /// clientDataHash: SHA-256 of the bytes.
  public var hash: [UInt8] { SHA256.hash(json) }
}

extension WebOrigin {
  /// Whether `liquid` signs for client data of this origin: `https:`, no bracketed address, or `http://localhost`
  /// itself (Recovery §11, E2).
  var isSignedFor: Bool {
    switch scheme {
    case .https: !host.hasPrefix("[")
    case .http: host == "localhost"
    }
  }
}
