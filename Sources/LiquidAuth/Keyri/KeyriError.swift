public import CryptoPrimitives

/// Why something with Keyri did not come about.
///
/// What a server wrote stands in ``refused(status:reason:)`` only, and is to be shown like any text of a stranger.
public enum KeyriError: Error, Equatable, Sendable {
  /// A text is no link of a Keyri login.
  case link
  /// The link's host is neither below `onekey.to` nor configured.
  case foreignLink
  /// A text is no email address.
  case email
  /// A key for the session API that is no such key.
  case appKey
  /// The clock is before 2001 or after 2286: the milliseconds since 1970 have not 13 digits.
  case clock
  /// The server did not answer.
  case http(HTTPFailure)
  /// The authenticator did not answer.
  case authenticator(AuthenticatorFailure)
  /// The primitives failed.
  case cryptography(CryptoError)
  /// The server sends us elsewhere, which is never followed.
  case redirected
  /// The server knows the user already, with this key or another: status 409.
  case registered
  /// The server does not take the signature: status 401.
  case unauthorized
  /// The server says no, by its status or, whatever the status, in the body.
  case refused(status: Int, reason: String?)
  /// The answer says yes, and does not hold what a server of Keyri's sends; the member that is wrong, or
  /// what is wrong with all of it.
  case malformed(String)
  /// The answer is about another session than the link.
  case anotherSession
  /// The browser's key is no point of P-256.
  case browserKey
  /// The browser asks for another user than the one who is to be signed in.
  case anotherUser
  /// The browser's page is of another origin than the one that was agreed to.
  case anotherOrigin
  /// The server itself says that the login is to be denied.
  case deniedByRisk
  /// The prompt was answered so late that the server would not take the signature; nothing was sent.
  case tooLate
}

extension KeyriError: CustomStringConvertible {
  /// What happened, then what to do: lower case, no full stop.
  public var description: String {
    switch self {
    case .link: "this is no link of a Keyri login; scan the code again"
    case .foreignLink: "the link's host is neither below \(KeyriLink.domain) nor configured; do not trust the code"
    case .email: "this is no email address; type it as the service knows it"
    case .appKey: "this is no app key; copy it again"
    case .clock: "the clock of this machine is wrong; set it, and try again"
    case .http(let failure): failure.keyriSentence
    case .authenticator(let failure): failure.keyriSentence
    case .cryptography(let error): error.description
    case .redirected: "the server sends us to another address, which was not followed; check the configured one"
    case .registered: "the server has a key for this address already; sign in, or have that key removed there"
    case .unauthorized:
      "the server does not take the signature; check that this address was registered with this vault's phrase, and that "
        + "the clock is right"
    case .refused(let status, let reason):
      "the server refused with status \(status)\(reason.map { ": " + $0.onOneLine } ?? ""); ask for a new code, or try later"
    case .malformed(let what):
      "the server does not answer as Keyri's do (\(what.onOneLine)); check the configured address"
    case .anotherSession:
      "the server answered for another session than the link's, and got nothing; scan the code again"
    case .browserKey: "the browser's key is no point of P-256, and nothing was sent; scan the code again"
    case .anotherUser: "the browser asks for another user, and nothing was sent; sign in as that one, or deny"
    case .anotherOrigin:
      "the browser's page is of another origin than the one agreed to, and nothing was sent; do not trust it"
    case .deniedByRisk: "Keyri's server says that this login is to be denied, and nothing was sent; deny it"
    case .tooLate: "the prompt was answered too late for the server, and nothing was sent; try again"
    }
  }
}

extension HTTPFailure {
  fileprivate var keyriSentence: String {
    switch self {
    case .unreachable(let reason): "cannot reach the server: \(reason.onOneLine); check the network and the address"
    case .untrusted(let reason): "the server does not prove who it is: \(reason.onOneLine); do not trust it"
    case .timedOut: "the server did not answer in time; try again later"
    case .bodyTooLarge: "the server answers with more than is read; check the configured address"
    case .broken(let reason): "the connection to the server broke off: \(reason.onOneLine); try again"
    }
  }
}

extension AuthenticatorFailure {
  fileprivate var keyriSentence: String {
    switch self {
    case .unreachable(let sentence), .refused(let sentence): sentence
    case .declined: "the authenticator's prompt was refused, and nothing was signed"
    case .timedOut: "nobody answered the authenticator's prompt, and nothing was signed; try again"
    }
  }
}
