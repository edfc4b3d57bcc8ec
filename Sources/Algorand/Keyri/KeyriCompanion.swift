import CryptoPrimitives
public import LiquidAuth

/// A service's own server: Keyri's companion of Firebase Authentication, for registration and login without a browser.
public struct KeyriCompanion: Sendable {
  /// The most bytes of an answer that are read: a custom token has about 1000.
  static let maximumAnswerSize = 8192

  private let origin: WebOrigin
  private let exchange: KeyriExchange
  private let signer: KeyriSigner

  /// - Parameters:
  ///   - origin: the server's origin, from the configuration.
  ///   - now: milliseconds since 1970.
  public init(
    origin: WebOrigin, http: any HTTPPort, keys: any AssociationKeys, now: @escaping @Sendable () -> UInt64,
    randomness: KeyriRandomness
  ) {
    self.origin = origin
    exchange = KeyriExchange(http: http)
    signer = KeyriSigner(keys: keys, now: now, randomness: randomness)
  }

  /// `POST /api/keyriregistration`: sends the user's public key to the server, and signs the user in.
  ///
  /// A server that already has a key for this address refuses. ``login(_:)`` then signs in with that key, which every
  /// machine with the same phrase has.
  public func register(_ email: KeyriEmail) async throws(LiquidAuthError) -> FirebaseToken {
    try await token(
      for: Registration(email: email.text, publicKey: signer.publicKey(of: email)), at: "/api/keyriregistration")
  }

  /// `POST /api/keyrilogin`: signs the user in by a signature, after the authenticator's prompt.
  public func login(_ email: KeyriEmail) async throws(LiquidAuthError) -> FirebaseToken {
    try await token(for: signer.login(of: email, service: origin.description), at: "/api/keyrilogin")
  }

  private func token(for body: some Encodable & Sendable, at path: String) async throws(LiquidAuthError)
    -> FirebaseToken
  {
    let answer = try await exchange.body(
      of: try .post(body, to: origin.description + path), accepted: [200], maximumSize: Self.maximumAnswerSize,
      refusals: [401: .keyriUnauthorized, 409: .keyriRegistered])
    guard let token = FirebaseToken(answer) else { throw .keyriAnswer("token") }
    return token
  }

  private struct Registration: Encodable {
    let email: String
    let publicKey: String
  }
}

/// A custom token of Firebase Authentication: its holder can sign in as the user for an hour.
public struct FirebaseToken: Equatable, Sendable {
  /// The token in ASCII; print it only where the user requested it.
  public let bytes: [UInt8]

  /// Takes the compact form of a signed JWT, RFC 7515 §7.1: three parts in base64url.
  ///
  /// Anything else is `nil`, such as a refusal with a status of success.
  init?(_ body: [UInt8]) {
    let parts = body.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && Base64URL.decode($0) != nil }) else { return nil }
    bytes = body
  }
}

extension FirebaseToken: CustomStringConvertible, CustomReflectable {
  /// Only the length, so that a token in a log stays secret.
  public var description: String { "FirebaseToken(\(bytes.count))" }

  /// No children: a dump shows no more than ``description``.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
