import DisplayText

/// Why an exchange with a dApp, its server or a service with Keyri failed.
///
/// Texts from outside are made safe for a terminal: one line, of limited length.
public struct LiquidAuthError: Error, Equatable, Sendable {
  /// The errors that programs distinguish; reason and hint have the details.
  public enum Kind: Equatable, Sendable {
    /// Any other failure, or a refusal of the server, the dApp or the authenticator.
    case failed
    /// An address that is not an origin, or not a trusted one.
    case origin(WebOrigin.Fault)
    /// The user or a policy refused, or no prompt could be shown.
    case userCanceled
    /// The authenticator's prompt was not answered in time.
    case timedOut
    /// The user was not verified.
    case notVerified
    /// The server knows no passkey of this account.
    case unknownCredential
    /// The authenticator has no passkey of this account for the relying party.
    case noCredential
    /// The challenge begins with a prefix that Algorand signs, as one in 2700 does by chance; request another one.
    case reservedChallenge
    /// The connection to the server is lost; a new one may work.
    case serverLost(PortError)
    /// The channel to the dApp was not open in time.
    case channelTimedOut
    /// The connection to the dApp is lost; the dApp may come back.
    case channelLost
    /// The task was cancelled.
    case cancelled
  }

  /// The kind that programs distinguish.
  public let kind: Kind
  /// What happened: lower case, no full stop.
  public let reason: String
  /// What to do, if anything can be done: lower case, no full stop.
  public let hint: String?
  /// The words of the command that ends the hint.
  public let command: [String]?

  /// - Parameter command: plain words, which end the hint.
  package init(_ kind: Kind, _ reason: String, hint: String? = nil, run command: [String] = []) {
    (self.kind, self.reason) = (kind, reason)
    self.hint = hint.map { ([$0] + command).joined(separator: " ") }
    self.command = command.isEmpty ? nil : command
  }

  /// Makes an error of kind `failed`.
  package init(_ reason: String, hint: String? = nil) { self.init(.failed, reason, hint: hint) }
}

extension LiquidAuthError: CustomStringConvertible {
  /// What happened, then what to do.
  public var description: String { hint.map { "\(reason); \($0)" } ?? reason }
}

// MARK: - Signing in

extension LiquidAuthError {
  private static let advice = "report this to the dApp's operator"
  private static let distrust = "do not trust this link, and report it to the dApp's operator"

  /// The exchange with the server failed.
  static func network(host: String, _ failure: PortError) -> Self {
    let reason = failure.reason.onOneLine
    return switch failure.kind {
    case .unreachable: Self("cannot reach \(host): \(reason)", hint: "check the network and the link")
    case .untrusted: Self("\(host) did not prove its identity: \(reason)", hint: distrust)
    case .timedOut: Self("\(host) did not answer in time", hint: "try again later")
    case .tooLarge: Self("\(host) sent an answer that is too long", hint: distrust)
    default: Self("the connection to \(host) was lost: \(reason)", hint: "try again")
    }
  }

  /// The server's answer is not JSON, or a member of it has another type.
  static func invalidJSON(_ what: String) -> Self { Self("the server's answer cannot be read: \(what)", hint: advice) }

  /// A required member is missing.
  static func missingRequiredField(_ name: String) -> Self { Self("the server's answer has no \(name)", hint: advice) }

  /// The answer is a redirection.
  static func redirected(to place: String) -> Self {
    Self(
      "the server redirects to \(place.onOneLine), which the link does not name; this was not followed",
      hint: "ask the dApp for a link to the right server")
  }

  /// The answer is not JSON.
  static func contentType(_ type: String) -> Self {
    Self(
      "the server answered with \(type.onOneLine), not with JSON",
      hint: "check that the link names a Liquid Auth server")
  }

  /// A status that is neither a success (200, 201) nor an error.
  static func unknownStatus(_ status: Int) -> Self {
    Self(
      "the server answered with status \(status), which is not an answer of a Liquid Auth server",
      hint: "check that the link names one")
  }

  /// The server failed.
  static func serverError(status: Int, _ message: String) -> Self {
    Self(
      "the server failed with status \(status): \(message.onOneLine)", hint: "try again later, and \(advice)")
  }

  /// The server refused, with its own message.
  static func authenticationFailed(_ message: String) -> Self {
    Self("the server did not accept the sign-in: \(message.onOneLine)", hint: "ask the dApp for a new link")
  }

  /// The server refused, and its rp.id is a parent domain of its host: it may expect that domain's origin.
  static func otherHost(_ message: String, rpID: String) -> Self {
    Self(
      "the server did not accept the sign-in: \(message.onOneLine), and may expect the origin of another host, "
        + "\(rpID.onOneLine), which is not sent", hint: "ask the dApp for a link to that host")
  }

  /// The server names another account or passkey than the one that signed in.
  static func wrongUser(named: String, ours: String) -> Self {
    Self(
      "the server names \(named.onOneLine), but \(ours) signed in", hint: "do not trust it, and \(advice)")
  }

  /// The server asks for passkeys other than the one that was offered.
  static let otherCredentials = Self(
    "the server asks for a passkey that was not offered", hint: "do not trust it, and \(advice)")

  /// The server's request has no rp.id.
  static let missingRpID = Self("the server's request has no rp.id", hint: advice)

  /// The rp.id is neither the host nor a parent domain of it: WebAuthn §5.1.3, step 7.
  static func otherSite(_ rpID: String, host: String) -> Self {
    Self(
      "\(host) asks for a passkey of \(rpID.onOneLine), which is another site; none was sent",
      hint: "do not trust this link")
  }

  /// The relying party's id is a public suffix.
  static func publicSuffix(_ rpID: String) -> Self {
    Self(
      "the server asks for a passkey that all sites below \(rpID.onOneLine) would share; none was sent", hint: advice)
  }

  /// The challenge is not 32 bytes in canonical base64url.
  static let challengeForm = Self(
    "the server's challenge is not 32 bytes in base64url, and was not signed", hint: advice)

  /// The challenge begins with a prefix that Algorand signs, such as that of a transaction or a program: Recovery §11.
  static let reservedChallenge = Self(
    .reservedChallenge,
    "refused to sign: the server's challenge could be mistaken for an Algorand transaction or program",
    hint: "ask the dApp for a new link, and do not trust it if this happens again")

  /// The server's list of algorithms lacks ES256.
  static let unsupportedAlgorithm = Self(
    "the server does not accept ES256, the only algorithm that is supported", hint: advice)

  /// The authenticator does not accept client data of this origin.
  static func unsignedOrigin(_ origin: String) -> Self {
    Self(
      "the authenticator does not sign for \(origin.onOneLine)",
      hint: "ask the dApp for a link with https, or with http://localhost on this machine")
  }

  /// The answer to the server cannot be written as JSON.
  package static let unwritable = Self("the answer to the server cannot be written as JSON", hint: "please report this")

  /// The server knows no passkey of this account.
  static let unknownCredential = Self(
    .unknownCredential, "the server knows no passkey of this account",
    hint: "register a new passkey, which replaces one on this machine, with: --register")

  /// The authenticator has no passkey of this account at this relying party.
  static func noCredential(rpID: String) -> Self {
    Self(
      .noCredential, "the authenticator has no passkey of this account for \(rpID.onOneLine)",
      hint: "register with: --register")
  }

  /// The account already has a passkey at this relying party.
  static func alreadyRegistered(rpID: String) -> Self {
    Self("this account has a passkey for \(rpID.onOneLine) already", hint: "sign in with: --authenticate")
  }

  /// The authenticator has no user verification.
  static let noVerification = Self(
    "the authenticator cannot verify you", hint: "start it with --verification passphrase")

  /// The authenticator lacks the extension `liquid`.
  static let noLiquid = Self(
    "the authenticator does not sign for Algorand accounts", hint: "install the one of this version, and start it again"
  )

  /// The authenticator did not sign, or signed something else.
  static func signingFailed(_ what: String) -> Self {
    Self("the authenticator did not sign: \(what)", hint: "see its log")
  }

  /// The user or a policy refused, or no prompt could be shown; the CTAP status is the same.
  static let userCanceled = Self(
    .userCanceled, "the authenticator's prompt was refused or could not be shown, and nothing was signed",
    hint: "if you saw no prompt, see the authenticator's log, and run:", run: ["liquid-auth", "status"])

  /// The prompt was not answered in time.
  static let timedOut = Self(
    .timedOut, "nobody answered the authenticator's prompt, and nothing was signed", hint: "open the link again")

  /// The user was not verified.
  static let notVerified = Self(
    .notVerified, "you were not verified, and nothing was signed", hint: "if this keeps happening, run:",
    run: ["liquid-auth", "status"])

  /// The user or a policy refused, or no prompt could be shown, as the port's reason says.
  package static func declined(_ failure: PortError) -> Self {
    Self(.userCanceled, "nothing was signed: \(failure.reason)")
  }

  /// The authenticator did not answer; the port's reason is a whole sentence.
  static func authenticator(_ failure: PortError) -> Self {
    switch failure.kind {
    case .declined: declined(failure)
    case .timedOut: timedOut
    default: Self(failure.reason)
    }
  }
}

extension String {
  /// The text as part of a sentence: `DisplayText.words(_:)`.
  var onOneLine: String { DisplayText.words(self) }
}
