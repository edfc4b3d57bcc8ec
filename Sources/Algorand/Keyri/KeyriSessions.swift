import CryptoPrimitives
public import LiquidAuth

/// Keyri's session API, which signs in a browser with the code that it shows.
///
/// Look a session up, show it to the user, then confirm or deny.
public struct KeyriSessions: Sendable {
  /// The most bytes of an answer that are read.
  static let maximumAnswerSize = 16_384

  private let origin: WebOrigin
  private let appKey: String
  private let exchange: KeyriExchange
  private let signer: KeyriSigner

  /// - Parameters:
  ///   - origin: the API's origin, from the configuration.
  ///   - appKey: the API's key for the service, from the configuration.
  ///   - now: milliseconds since 1970.
  /// - Throws: `keyriAppKey` unless `appKey` is 1 to 128 characters that a URL needs no escapes for.
  public init(
    origin: WebOrigin, appKey: String, http: any HTTPPort, keys: any AssociationKeys,
    now: @escaping @Sendable () -> UInt64, randomness: KeyriRandomness
  ) throws(LiquidAuthError) {
    guard (1...128).contains(appKey.utf8.count), appKey.utf8.allSatisfy(\.isUnreserved) else { throw .keyriAppKey }
    self.origin = origin
    self.appKey = appKey
    exchange = KeyriExchange(http: http)
    signer = KeyriSigner(keys: keys, now: now, randomness: randomness)
  }

  /// `GET /api/v1/session/{id}`: looks up who requests the login, and from where.
  ///
  /// The request reveals nothing about the user: `x-mobile-id`, a fixed key on phones, is fresh here each time.
  public func session(of link: KeyriLink) async throws(LiquidAuthError) -> KeyriSession {
    let mobileID = Base64.encode(SubjectPublicKeyInfo.encode(try freshKey()))
    let request = HTTPRequest(
      method: .get, url: "\(url(of: link.sessionID))?appKey=\(appKey)",
      headers: [HTTPHeader("x-mobile-id", mobileID), HTTPHeader("x-mobile-os", "Linux")])
    let answer = try await exchange.body(of: request, accepted: [200], maximumSize: Self.maximumAnswerSize)
    return try KeyriSession(answer, answering: link, mobileID: mobileID)
  }

  /// Signs the browser in: makes a login, after the authenticator's prompt, and sends it sealed to the browser.
  ///
  /// - Parameter agreedOrigin: the origin that the user saw, or that a script expects.
  /// - Throws: before anything is signed, if the page has another origin, the server says that the login is to be
  ///   denied, or the browser asks for another user.
  public func confirm(
    _ session: KeyriSession, agreedOrigin: WebOrigin, as email: KeyriEmail
  ) async throws(LiquidAuthError) {
    guard session.widgetOrigin == agreedOrigin else { throw .anotherOrigin }
    guard session.risk?.isDenied != true else { throw .deniedByRisk }
    guard session.asks(for: email) else { throw .anotherUser }
    let publicKey = try await signer.publicKey(of: email)
    let login = try await signer.login(of: email, service: session.widgetOrigin.description)
    let mobile = Reply.APIData(associationKey: publicKey, publicUserId: email.text, mobileID: session.mobileID)
    try await send(Reply(to: session, errors: false, apiData: mobile, browserData: seal(login, for: session)))
  }

  /// Sends a refusal to the browser.
  ///
  /// Nothing is signed or sealed, and the refusal does not name the user.
  public func deny(_ session: KeyriSession) async throws(LiquidAuthError) {
    try await send(Reply(to: session, errors: true, apiData: nil, browserData: nil))
  }

  private func seal(_ login: KeyriLogin, for session: KeyriSession) throws(LiquidAuthError) -> KeyriSealedPayload {
    let login = try KeyriJSON.encode(login)
    return try Self.computed { () throws(CryptoError) in
      try KeyriSealedPayload(login, for: session.browserKey, randomness: signer.randomness)
    }
  }

  private func freshKey() throws(LiquidAuthError) -> P256.PublicKey {
    try Self.computed { () throws(CryptoError) in try signer.randomness.key().publicKey }
  }

  private static func computed<Value>(
    _ value: () throws(CryptoError) -> Value
  ) throws(LiquidAuthError) -> Value {
    do { return try value() } catch { throw LiquidAuthError(error.description) }
  }

  /// `POST /api/v1/session/{id}`, once: a refused request is not repeated.
  private func send(_ reply: Reply) async throws(LiquidAuthError) {
    let body = try await exchange.body(
      of: try .post(reply, to: url(of: reply.sessionID)), accepted: [200, 201, 204], maximumSize: Self.maximumAnswerSize
    )
    if !body.isEmpty { _ = try KeyriJSON.decode(KeyriFault.self, from: body) }
  }

  private func url(of sessionID: String) -> String { "\(origin)/api/v1/session/\(sessionID)" }
}

/// The answer to a browser's login.
private struct Reply: Encodable {
  /// The data about the user for the API itself.
  struct APIData: Encodable {
    let associationKey: String
    let publicUserId: String
    let mobileID: String

    enum CodingKeys: String, CodingKey {
      case associationKey, publicUserId
      case mobileID = "x-mobile-id"
    }
  }

  let sessionID: String
  let hash: String
  let salt: String
  let apiData: APIData?
  let browserData: KeyriSealedPayload?
  let errorMsg = ""
  let errors: Bool

  enum CodingKeys: String, CodingKey {
    case hash = "__hash"
    case salt = "__salt"
    case apiData, browserData, errorMsg, errors
  }

  init(to session: KeyriSession, errors: Bool, apiData: APIData?, browserData: KeyriSealedPayload?) {
    (sessionID, hash, salt) = (session.id, session.hash, session.salt)
    (self.errors, self.apiData, self.browserData) = (errors, apiData, browserData)
  }
}

/// The sealed answer to a login, which only the browser can decrypt: `browserData` on the wire.
///
/// ECDH of a fresh P-256 key with the browser's, HKDF-SHA-256 (no info) and AES-256-GCM (no additional data). Key, salt
/// and nonce are used once.
struct KeyriSealedPayload: Encodable, Equatable {
  /// Random bytes in the salt.
  ///
  /// The field on the wire takes any number; phones send a decimal number of up to four digits.
  static let saltSize = 32

  /// The fresh public key, X ‖ Y.
  let publicKey: String
  /// Cipher text ‖ tag.
  let ciphertext: String
  /// The salt of HKDF.
  let salt: String
  /// The nonce of AES-GCM, 12 bytes.
  let iv: String

  /// Seals; all members are in base64.
  init(_ payload: [UInt8], for browserKey: P256.PublicKey, randomness: KeyriRandomness) throws(CryptoError) {
    let ephemeral = try randomness.key()
    let (salt, nonce) = (randomness.bytes(Self.saltSize), randomness.bytes(AESGCM.nonceSize))
    let secret = try ephemeral.sharedSecret(with: browserKey)
    let key = HKDFSHA256.derive(key: secret, salt: salt, info: [], count: AESGCM.keySize)
    publicKey = Base64.encode(ephemeral.publicKey.raw)
    ciphertext = Base64.encode(try AESGCM.seal(payload, key: key, nonce: nonce, ad: []))
    self.salt = Base64.encode(salt)
    iv = Base64.encode(nonce)
  }
}
