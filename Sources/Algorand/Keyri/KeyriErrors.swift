// The errors of exchanges with Keyri's API and with services that use Keyri.

import DisplayText
public import LiquidAuth

extension LiquidAuthError {
  /// The text is not a link of a Keyri login.
  static let noKeyriLink = Self("this is not the link of a Keyri login", hint: "scan the code again")

  /// The link's host is neither below `onekey.to` nor configured.
  static let foreignKeyriLink = Self(
    "the link's host is neither below \(KeyriLink.domain) nor configured", hint: "do not trust the code")

  /// The text is not an email address.
  static let noEmail = Self("this is not an email address", hint: "type it as the service knows it")

  /// The text is not a key for the session API.
  static let keyriAppKey = Self("this is not an app key", hint: "copy it again")

  /// The clock is before 2001 or after 2286: the milliseconds since 1970 do not have 13 digits.
  static let wrongClock = Self("the clock of this machine is wrong", hint: "set it, and try again")

  /// The exchange with the server failed.
  static func keyriServer(_ failure: PortError) -> Self {
    let reason = DisplayText.words(failure.reason)
    return switch failure.kind {
    case .unreachable: Self("cannot reach the server: \(reason)", hint: "check the network and the address")
    case .untrusted: Self("the server did not prove its identity: \(reason)", hint: "do not trust it")
    case .timedOut: Self("the server did not answer in time", hint: "try again later")
    case .tooLarge: Self("the server sent an answer that is too long", hint: "check the configured address")
    default: Self("the connection to the server was lost: \(reason)", hint: "try again")
    }
  }

  /// The error of the authenticator's port.
  ///
  /// The port's reason is a whole sentence, except for a refusal or a timeout.
  static func keyriAuthenticator(_ failure: PortError) -> Self {
    switch failure.kind {
    case .declined: declined(failure)
    case .timedOut:
      Self(.timedOut, "nobody answered the authenticator's prompt, and nothing was signed", hint: "try again")
    default: Self(failure.reason)
    }
  }

  /// The user answered so late that the server would refuse the signature.
  static let keyriTooLate = Self(
    .timedOut, "the answer to the prompt came too late for the server, and nothing was sent", hint: "try again")

  /// The server redirects, which is never followed.
  static let keyriRedirected = Self(
    "the server redirects to another address; this was not followed", hint: "check the configured one")

  /// The server knows the user already, with this key or another: status 409.
  static let keyriRegistered = Self(
    "the server has a key for this address already", hint: "sign in, or have that key removed there")

  /// The server does not accept the signature: status 401.
  static let keyriUnauthorized = Self(
    "the server did not accept the signature",
    hint: "check that this address was registered with this vault's phrase, and that the clock is right")

  /// The server refuses, by its status or by the body.
  static func keyriRefused(status: Int, reason: String?) -> Self {
    Self(
      "the server refused with status \(status)\(reason.map { ": " + DisplayText.words($0) } ?? "")",
      hint: "ask for a new code, or try later")
  }

  /// A success whose body is not what Keyri's servers send; `what` is the wrong member, or what is wrong with the body.
  static func keyriAnswer(_ what: String) -> Self {
    Self("this is not the answer of a Keyri server (\(DisplayText.words(what)))", hint: "check the configured address")
  }

  /// The answer is about another session than the link.
  static let otherKeyriSession = Self(
    "the server answered for another session, and nothing was sent", hint: "scan the code again")

  /// The browser's key is not a point of P-256.
  static let browserKey = Self(
    "the browser's key is invalid, and nothing was sent", hint: "scan the code again")

  /// The browser asks for a user other than the one to be signed in.
  static let anotherUser = Self(
    "the browser expects another user, and nothing was sent", hint: "sign in as that one, or deny")

  /// The browser's page does not have the agreed origin.
  static let anotherOrigin = Self(
    "the browser's page has a different origin, and nothing was sent", hint: "do not trust it")

  /// The server itself says that the login is to be denied.
  public static let deniedByRisk = Self(
    "Keyri's server says that this login is to be denied, and nothing was sent", hint: "deny it")
}
