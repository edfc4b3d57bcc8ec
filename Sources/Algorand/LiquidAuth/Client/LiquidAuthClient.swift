import CryptoPrimitives
public import DeterministicKeys
import Recovery

/// A client that proves its passkey and its Algorand account to the servers of dApps.
///
/// It holds neither keys nor connections: the authenticator has the keys and shows its prompts itself; everything else
/// goes through ports. One value serves any number of links; each call is one sign-in with its own session.
public struct LiquidAuthClient: Sendable {
  private let http: any HTTPPort
  private let publicSuffixes: any PublicSuffixes
  private let authenticator: AuthenticatorSession
  private let userAgent: UserAgent
  private let report: @Sendable (LiquidAuthProgress) -> Void

  /// Composes a client.
  ///
  /// - Parameters:
  ///   - device: the name of the user's device, which the dApp shows; cut to 64 bytes.
  ///   - report: called before every step; it must not block.
  public init(
    http: any HTTPPort, authenticator: any AuthenticatorPort, publicSuffixes: any PublicSuffixes, userAgent: UserAgent,
    device: String, report: @escaping @Sendable (LiquidAuthProgress) -> Void
  ) {
    self.http = http
    self.publicSuffixes = publicSuffixes
    self.authenticator = AuthenticatorSession(port: authenticator, device: device.cut(toUTF8Count: 64))
    self.userAgent = userAgent
    self.report = report
  }

  /// Registers a new passkey of the account at a server, in answer to a dApp's request.
  ///
  /// The account signs the server's challenge, which proves that passkey and address belong together. If the account
  /// already has a passkey at this relying party, the new one replaces it on this machine.
  public func registration(
    origin: WebOrigin, path: String = "", requestID: RequestID
  ) async throws(LiquidAuthError) -> LiquidAuthResult {
    var attempt = try await prepare(origin, path, requestID)
    return try await perform(.registration, &attempt)
  }

  /// Signs in with the account's passkey, in answer to a dApp's request.
  public func authentication(
    origin: WebOrigin, path: String = "", requestID: RequestID
  ) async throws(LiquidAuthError) -> LiquidAuthResult {
    var attempt = try await prepare(origin, path, requestID)
    return try await perform(.authentication, &attempt)
  }

  /// Reads a dApp's link and signs in or registers: see ``connect(origin:path:requestID:)``.
  public func connect(link: String) async throws(LiquidAuthError) -> LiquidAuthResult {
    let uri = try LiquidURI(link)
    return try await connect(origin: uri.origin, path: uri.path, requestID: uri.requestID)
  }

  /// Signs in with the account's passkey if the server has it, and otherwise registers one.
  ///
  /// A stored passkey is never replaced because a server does not know it. This throws
  /// ``LiquidAuthError/Kind/unknownCredential``, and the user may then choose ``registration(origin:path:requestID:)``.
  public func connect(
    origin: WebOrigin, path: String = "", requestID: RequestID
  ) async throws(LiquidAuthError) -> LiquidAuthResult {
    var attempt = try await prepare(origin, path, requestID)
    do throws(LiquidAuthError) {
      return try await perform(.authentication, &attempt)
    } catch {
      guard [.unknownCredential, .noCredential].contains(error.kind), !attempt.passkey.isStored else { throw error }
      report(.noCommonPasskey)
      return try await perform(.registration, &attempt)
    }
  }
}

/// The progress of a sign-in.
public enum LiquidAuthProgress: Equatable, Sendable {
  /// The client requests the account; the authenticator may ask for the vault's passphrase.
  case askingAuthenticator
  /// The authenticator has no passkey of this very host: as far as this machine knows, this is the first sign-in there,
  /// and the user should look twice. A passkey of a parent domain does not count, since anybody may own the host.
  case firstUse(host: String)
  /// The client requests a challenge from the server.
  case requestingChallenge(LiquidCeremony)
  /// The authenticator asks the user to confirm the signature for this relying party.
  case waitingForPerson(LiquidCeremony, rpID: String, address: String)
  /// There is no passkey to sign in with, and ``LiquidAuthClient/connect(link:)`` registers one: the server knows none
  /// of the account's, or one that was deleted here, and this machine has none that would be replaced.
  case noCommonPasskey
  /// The client sends the answer to the server.
  case answering(LiquidCeremony)
  /// The server did not accept client data with the link's origin; the client tries this one, once.
  case retrying(WebOrigin)
}

/// The result of a sign-in.
public struct LiquidAuthResult: Equatable, Sendable {
  /// The ceremony.
  public let ceremony: LiquidCeremony
  /// The server.
  public let origin: WebOrigin
  /// The path below which it is, as in the link; empty for the root.
  public let path: String
  /// The dApp's request.
  public let requestID: RequestID
  /// The relying party.
  public let rpID: String
  /// The passkey's id.
  public let credentialID: [UInt8]
  /// The account's address, on which authenticator and server agree.
  public let address: AlgorandAddress
  /// The cookies of the server's session, which signaling needs.
  public let cookies: CookieJar
  /// The user agent of the requests.
  public let userAgent: UserAgent
  /// The pairing for later connections, if the server gave one.
  public let pairing: DurablePairing?

  /// The headers for ``startSignaling(origin:path:headers:iceServers:timeout:ports:progress:)``.
  public var signalingHeaders: [HTTPHeader] {
    [userAgent.header] + (cookies.header(forPath: path + "/socket.io/").map { [$0] } ?? [])
  }
}

// MARK: - The steps of both ceremonies

extension LiquidAuthClient {
  /// One link, with the results so far.
  private struct Attempt {
    let origin: WebOrigin
    let requestID: RequestID
    let address: AlgorandAddress
    let passkey: WalletPasskey
    var server: ServerSession
  }

  /// Collects what is known before the first request to the server.
  private func prepare(
    _ origin: WebOrigin, _ path: String, _ requestID: RequestID
  ) async throws(LiquidAuthError) -> Attempt {
    guard origin.isSignedFor else { throw .unsignedOrigin(origin.serialized) }
    report(.askingAuthenticator)
    let address = try await authenticator.account()
    let (passkey, isOwn) = try await authenticator.passkey(
      of: origin.host, or: origin.claimableParents(publicSuffixes))
    if !isOwn { report(.firstUse(host: origin.host)) }
    return Attempt(
      origin: origin, requestID: requestID, address: address, passkey: passkey,
      server: ServerSession(origin: origin, path: path, userAgent: userAgent, http: http))
  }

  /// Performs a ceremony, and repeats it once if the challenge begins with a reserved prefix.
  ///
  /// One in 2700 random challenges does (Recovery §11). The authenticator refuses it without a prompt; an honest server
  /// draws another.
  private func perform(
    _ ceremony: LiquidCeremony, _ attempt: inout Attempt
  ) async throws(LiquidAuthError) -> LiquidAuthResult {
    do throws(LiquidAuthError) {
      return try await performOnce(ceremony, &attempt)
    } catch {
      guard error.kind == .reservedChallenge else { throw error }
      return try await performOnce(ceremony, &attempt)
    }
  }

  private func performOnce(
    _ ceremony: LiquidCeremony, _ attempt: inout Attempt
  ) async throws(LiquidAuthError) -> LiquidAuthResult {
    switch ceremony {
    case .registration: try await register(&attempt)
    case .authentication: try await authenticate(&attempt)
    }
  }

  /// `/attestation/request`, authenticatorMakeCredential, `/attestation/response`.
  private func register(_ attempt: inout Attempt) async throws(LiquidAuthError) -> LiquidAuthResult {
    report(.requestingChallenge(.registration))
    let options = try await attempt.server.post(
      "/attestation/request", AttestationRequest(username: attempt.address.text), for: AttestationOptions.self
    ).get()
    guard options.takesES256 else { throw .unsupportedAlgorithm }
    let request = try ceremony(.registration, rpID: options.rp?.id, challenge: options.challenge, attempt)

    // An attestation of format none signs nothing, so the passkey that the user confirmed once is sent again unchanged
    // with another origin. A second passkey would replace the first, and phone wallets have the first.
    var passkey: AttestedPasskey?
    let user = try await answer(request, &attempt, "/attestation/response") { clientData throws(LiquidAuthError) in
      let made: AttestedPasskey
      if let passkey {
        made = passkey
      } else {
        made = try await authenticator.makeCredential(request, clientData, excluding: options.ownExcludedIDs)
        passkey = made
      }
      return AttestationCredential(
        id: made.id,
        response: .init(
          clientDataJSON: Base64URLBytes(clientData.json), attestationObject: Base64URLBytes(made.attestationObject)),
        liquid: made.liquid)
    }
    return try result(request, by: passkey?.id ?? [], user, attempt)
  }

  /// `/assertion/request`, authenticatorGetAssertion, `/assertion/response`.
  private func authenticate(_ attempt: inout Attempt) async throws(LiquidAuthError) -> LiquidAuthResult {
    report(.requestingChallenge(.authentication))
    let id = attempt.passkey.credentialID
    let verdict = try await attempt.server.post(
      "/assertion/request/\(Base64URL.encode(id))", AssertionRequest(), for: AssertionOptions.self)
    if case .refused(let refusal) = verdict, refusal.isNotFound { throw .unknownCredential }
    let options = try verdict.get()
    guard options.allows(id) else { throw .otherCredentials }
    let request = try ceremony(
      .authentication, rpID: options.rpId ?? options.rp?.id, challenge: options.challenge, attempt)

    let user = try await answer(request, &attempt, "/assertion/response") { clientData throws(LiquidAuthError) in
      let assertion = try await authenticator.getAssertion(request, clientData, by: id)
      return AssertionCredential(
        id: id,
        response: .init(
          clientDataJSON: Base64URLBytes(clientData.json),
          authenticatorData: Base64URLBytes(assertion.authenticatorData),
          signature: Base64URLBytes(assertion.signature), userHandle: assertion.userHandle.map(Base64URLBytes.init)),
        liquid: assertion.liquid)
    }
    return try result(request, by: id, user, attempt)
  }

  /// Checks a server's request before the authenticator shows a prompt.
  private func ceremony(
    _ ceremony: LiquidCeremony, rpID: String?, challenge: String, _ attempt: Attempt
  ) throws(LiquidAuthError) -> CeremonyRequest {
    guard let rpID, !rpID.isEmpty else { throw .missingRpID }
    try attempt.origin.check(rpID: rpID, publicSuffixes)
    return CeremonyRequest(
      ceremony: ceremony, rpID: rpID, challenge: try Challenge(challenge), requestID: attempt.requestID,
      address: attempt.address)
  }

  /// Makes the answer and sends it with the link's origin.
  ///
  /// After a 401, if the rp.id is the link's host, it sends the answer once more with the origin that apps on phones
  /// use, `https://` and the rp.id. The server keeps its challenge until it is answered. For a parent domain there is
  /// no second attempt: a sub-domain's server that relays the parent's challenge would get a signature for the parent's
  /// origin, and could sign in there with it.
  private func answer(
    _ request: CeremonyRequest, _ attempt: inout Attempt, _ path: String,
    _ credential: (ClientData) async throws(LiquidAuthError) -> some Encodable
  ) async throws(LiquidAuthError) -> User {
    let (ceremony, origin) = (request.ceremony, attempt.origin)
    report(.waitingForPerson(ceremony, rpID: request.rpID, address: attempt.address.text))
    let first = try await credential(ClientData(ceremony, challenge: request.challenge, origin: origin))
    report(.answering(ceremony))
    let verdict = try await attempt.server.post(path, first, for: User.self)
    guard case .refused(let refusal) = verdict, refusal.isUnauthorized else { return try verdict.get() }
    let other = try? WebOrigin.ofRelyingParty(request.rpID)
    guard let other, other.host == origin.host else { throw .otherHost(refusal.message, rpID: request.rpID) }
    guard other != origin, other.isSignedFor else { throw refusal.error }

    report(.retrying(other))
    let second = try await credential(ClientData(ceremony, challenge: request.challenge, origin: other))
    report(.answering(ceremony))
    return try await attempt.server.post(path, second, for: User.self).get()
  }

  /// Compares the server's user with the account and passkey that signed in.
  private func result(
    _ request: CeremonyRequest, by credentialID: [UInt8], _ user: User, _ attempt: Attempt
  ) throws(LiquidAuthError) -> LiquidAuthResult {
    let (address, id) = (attempt.address.text, Base64URL.encode(credentialID))
    guard user.wallet.utf8.elementsEqual(address.utf8) else { throw .wrongUser(named: user.wallet, ours: address) }
    guard user.credentials.contains(where: { $0.credId.utf8.elementsEqual(id.utf8) }) else {
      throw .wrongUser(named: "other passkeys", ours: id)
    }
    return LiquidAuthResult(
      ceremony: request.ceremony, origin: attempt.origin, path: attempt.server.path, requestID: attempt.requestID,
      rpID: request.rpID,
      credentialID: credentialID, address: attempt.address, cookies: attempt.server.cookies, userAgent: userAgent,
      pairing: user.pairing)
  }
}

// MARK: - Options

extension AttestationOptions {
  /// WebAuthn §5.1.3, step 10: an empty list means the same as none.
  fileprivate var takesES256: Bool {
    guard let parameters = pubKeyCredParams, !parameters.isEmpty else { return true }
    return parameters.contains { $0.type.isSame(as: "public-key") && $0.alg == COSEAlgorithm.es256.rawValue }
  }

  /// Of the passkeys that the server knows, those that can belong to our accounts: 32 bytes (Recovery §4), at most as
  /// many as a request can name.
  fileprivate var ownExcludedIDs: [[UInt8]] {
    let known = excludeCredentials ?? []
    return Array(known.filter { $0.type.isSame(as: "public-key") && $0.id.bytes.count == 32 }.map(\.id.bytes).prefix(8))
  }
}

extension AssertionOptions {
  /// Whether a passkey may sign in; an empty list allows all.
  fileprivate func allows(_ id: [UInt8]) -> Bool {
    guard let allowed = allowCredentials, !allowed.isEmpty else { return true }
    return allowed.contains { $0.type.isSame(as: "public-key") && $0.id.bytes == id }
  }
}

extension String {
  /// The longest prefix of whole characters that has at most this many bytes.
  fileprivate func cut(toUTF8Count limit: Int) -> String {
    var text = self
    while text.utf8.count > limit { text.removeLast() }
    return text
  }
}
