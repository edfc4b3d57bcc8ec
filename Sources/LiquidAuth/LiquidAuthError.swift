/// Why a sign-in with an Algorand account did not come about.
///
/// The first nine cases, and the five after them, have the names of liquid-auth-ios, in its source and in its guides. The
/// others are for what it does not notice. Texts of servers are kept as they came; ``description`` shows them so that no
/// terminal obeys them.
public enum LiquidAuthError: Error, Equatable, Sendable {
  /// The link is none that is followed.
  case invalidURL(LiquidURIError)
  /// The server's JSON is none, or a member of it has another type.
  case invalidJSON(String)
  /// There is no answer of the server.
  case networkError(host: String, HTTPFailure)
  /// The server did not accept the sign-in, in its own words.
  case authenticationFailed(String)
  /// The authenticator did not sign, or not what was asked for.
  case signingFailed(String)
  /// The server's challenge is none that is signed.
  case invalidChallenge(ChallengeFault)
  /// A member that must be there is not.
  case missingRequiredField(String)
  /// The server failed: its status, and its own words.
  case serverError(status: Int, String)
  /// The person refused.
  case userCanceled

  /// The answer is none that a Liquid Auth server gives.
  case invalidServerResponse(ResponseFault)
  /// The server does not say for which relying party it asks.
  case missingRpID
  /// The authenticator takes no client data of this origin.
  case clientDataCreationFailed(origin: String)
  /// The answer to the server cannot be written as JSON.
  case assertionSerializationFailed
  /// The authenticator cannot verify its person, or has no extension `liquid`.
  case authenticationNotAvailable(AuthenticatorLack)

  /// The server asks for a relying party that is not its own.
  case invalidRpID(String, RpIDFault)
  /// The server did not accept the sign-in, in its own words, and asks for a relying party above its host: it may want
  /// the origin of that one, which is told to no other host.
  case otherHost(String, rpID: String)
  /// The server tells of another account or passkey than the one that signed in.
  case wrongUser(told: String, ours: String)
  /// The server knows no passkey of this account.
  case unknownCredential
  /// The authenticator knows no passkey of this account at this relying party.
  case noCredential(rpID: String)
  /// The account has a passkey at this relying party already.
  case alreadyRegistered(rpID: String)
  /// The server takes no key that we make: ES256 is not in its list.
  case unsupportedAlgorithm
  /// Nobody answered the authenticator's prompt in time.
  case timedOut
  /// The person was not verified.
  case notVerified
  /// The authenticator did not answer; the sentence is its adapter's, whole.
  case authenticatorFailed(String)
}

/// Why a challenge is not signed: Recovery §11.
public enum ChallengeFault: Equatable, Sendable {
  /// It is not 32 bytes in canonical base64url.
  case form
  /// It begins as a transaction, a program or something else of Algorand does.
  case reserved
}

/// What an answer has that no answer of a Liquid Auth server has.
public enum ResponseFault: Equatable, Sendable {
  /// It sends us elsewhere, which is never followed.
  case redirect(to: String)
  /// Its content is not JSON.
  case contentType(String)
  /// Its status, on success, is neither 200 nor 201.
  case status(Int)
  /// It offers other passkeys than the one that was asked for.
  case otherCredentials
}

/// Why an rp.id is refused: WebAuthn §5.1.3, step 7.
public enum RpIDFault: Equatable, Sendable {
  /// The host of the link is not below it.
  case otherSite(host: String)
  /// Below it everybody can have a site.
  case publicSuffix
}

/// What an authenticator lacks.
public enum AuthenticatorLack: Equatable, Sendable {
  /// It was not told how to verify its person.
  case verification
  /// It has no extension `liquid`.
  case liquid
}

extension LiquidAuthError: CustomStringConvertible {
  /// What happened, then what to do: lower case, no full stop.
  public var description: String {
    switch self {
    case .invalidURL(let error): error.description
    case .invalidJSON(let what): "the server's answer cannot be read: \(what); tell who runs the dApp"
    case .networkError(let host, let failure): failure.sentence(host: host)
    case .authenticationFailed(let reason):
      "the server did not accept the sign-in: \(reason.onOneLine); ask the dApp for a new link"
    case .signingFailed(let what): "the authenticator did not sign: \(what); see its log"
    case .invalidChallenge(.form):
      "the server's challenge is not 32 bytes in base64url, and was not signed; tell who runs the dApp"
    case .invalidChallenge(.reserved):
      "the server's challenge begins as something of Algorand does, and was not signed; ask the dApp for a new link, and "
        + "do not trust it if this happens again"
    case .missingRequiredField(let name): "the server's answer has no \(name); tell who runs the dApp"
    case .serverError(let status, let message):
      "the server failed with status \(status): \(message.onOneLine); try again later, and tell who runs the dApp"
    case .userCanceled:
      "the authenticator's prompt was refused or could not be shown, and nothing was signed; open the link again if that "
        + "was not meant"
    case .invalidServerResponse(let fault): fault.sentence
    case .missingRpID: "the server does not say for which site it asks (rp.id); tell who runs the dApp"
    case .clientDataCreationFailed(let origin):
      "the authenticator signs nothing for \(origin.onOneLine); ask the dApp for a link of https, or, on this machine, of "
        + "http://localhost"
    case .assertionSerializationFailed: "the answer to the server cannot be written as JSON; please report this"
    case .authenticationNotAvailable(.verification):
      "the authenticator cannot verify you; start it with: liquid-authenticator --verification passphrase"
    case .authenticationNotAvailable(.liquid):
      "the authenticator does not sign for Algorand accounts; install the one of this version, and start it again"
    case .invalidRpID(let rpID, let fault): fault.sentence(rpID: rpID.onOneLine)
    case .otherHost(let reason, let rpID):
      "the server did not accept the sign-in: \(reason.onOneLine), and may want the origin of another host, "
        + "\(rpID.onOneLine), which it does not get; ask the dApp for a link to that host"
    case .wrongUser(let told, let ours):
      "the server tells of \(told.onOneLine), and \(ours) signed in; do not trust it, and tell who runs the dApp"
    case .unknownCredential:
      "the server knows no passkey of this account; register a new one, in place of one that is kept here, with: --register"
    case .noCredential(let rpID):
      "the authenticator has no passkey of this account for \(rpID.onOneLine); register with: --register"
    case .alreadyRegistered(let rpID):
      "this account has a passkey for \(rpID.onOneLine) already; sign in with: --authenticate"
    case .unsupportedAlgorithm: "the server takes no ES256 key, and others are not made; tell who runs the dApp"
    case .timedOut: "nobody answered the authenticator's prompt, and nothing was signed; open the link again"
    case .notVerified: "you were not verified, and nothing was signed; if it goes on so, run: liquid-auth status"
    case .authenticatorFailed(let sentence): sentence
    }
  }
}

extension HTTPFailure {
  fileprivate func sentence(host: String) -> String {
    switch self {
    case .unreachable(let reason): "cannot reach \(host): \(reason.onOneLine); check the network and the link"
    case .untrusted(let reason):
      "\(host) does not prove who it is: \(reason.onOneLine); do not trust this link, and tell who runs the dApp"
    case .timedOut: "\(host) did not answer in time; try again later"
    case .bodyTooLarge: "\(host) answers with more than is read; do not trust this link, and tell who runs the dApp"
    case .broken(let reason): "the connection to \(host) broke off: \(reason.onOneLine); try again"
    }
  }
}

extension ResponseFault {
  fileprivate var sentence: String {
    switch self {
    case .redirect(let place):
      "the server sends us to \(place.onOneLine), which the link does not name, and was not followed; ask the dApp for "
        + "a link to the right server"
    case .contentType(let type):
      "the server answers with \(type.onOneLine) and not with JSON; check that the link names a Liquid Auth server"
    case .status(let status):
      "the server answers with status \(status), which no Liquid Auth server does; check that the link names one"
    case .otherCredentials:
      "the server asks for another passkey than the one that was offered; do not trust it, and tell who runs the dApp"
    }
  }
}

extension RpIDFault {
  fileprivate func sentence(rpID: String) -> String {
    switch self {
    case .otherSite(let host):
      "\(host) asks for a passkey of \(rpID), which is another site, and got none; do not trust this link"
    case .publicSuffix:
      "the server asks for a passkey that all sites below \(rpID) would share, and got none; tell who runs the dApp"
    }
  }
}
