import DisplayText
import Glibc
import Keyri
import LiquidAuth

/// The answer to a browser that asks to be signed in.
enum KeyriDecision: Equatable {
  /// Ask the user.
  case ask
  /// Confirm, if its page has this origin.
  case confirm(WebOrigin)
  /// Deny.
  case deny
}

/// Keyri's protocols over the wallet's ports.
struct KeyriWallet: Sendable {
  let ports: WalletPorts
  let services: KeyriServices
  let output: EventOutput

  /// Sends a user's key to a service's server.
  func register(_ email: KeyriEmail, at service: KeyriService) async throws {
    output.report(.keyri(.registering(email, service.server)))
    let token = try await companion(of: service).register(email)
    report(.registered(email, token), token)
  }

  /// Signs a user in at a service's server.
  func login(_ email: KeyriEmail, at service: KeyriService) async throws {
    let token = try await companion(of: service).login(email)
    report(.signedIn(email, token), token)
  }

  /// Reports the event; without --json, also writes the token alone to standard output.
  private func report(_ event: KeyriEvent, _ token: FirebaseToken) {
    output.report(.keyri(event))
    if !output.isJSON { output.writeResult(token.text) }
  }

  /// Reads a link, looks up and reports the login, decides, and answers the browser.
  func answer(_ text: String, _ decision: KeyriDecision, as email: KeyriEmail?) async throws {
    let link = try KeyriLink(text, otherOrigins: services.linkOrigins)
    let (api, appKey) = try services.session(of: link)
    let sessions = try KeyriSessions(
      origin: api, appKey: appKey, http: ports.http, keys: ports.socket, now: unixMilliseconds, randomness: .system)
    let session = try await sessions.session(of: link)
    output.report(.keyri(.session(session)))
    guard let (origin, user) = try await agreement(to: session, decision, as: email) else {
      try await sessions.deny(session)
      output.report(.keyri(.denied(session.widgetOrigin)))
      if decision == .deny { return }
      throw WalletFailure("you refused the sign-in at \(session.widgetOrigin)", code: .refused)
    }
    try await sessions.confirm(session, agreedOrigin: origin, as: user)
    output.report(.keyri(.confirmed(origin, user)))
  }

  /// The origin and user that may sign in; `nil` to deny the login.
  private func agreement(
    to session: KeyriSession, _ decision: KeyriDecision, as email: KeyriEmail?
  ) async throws -> (WebOrigin, KeyriEmail)? {
    if decision == .deny { return nil }
    guard session.risk?.isDenied != true else { throw LiquidAuthError.deniedByRisk }
    guard let user = email ?? session.publicUserID.flatMap({ try? KeyriEmail($0) }) else {
      throw WalletFailure(
        "the browser does not name a user, and nothing was sent; give --as EMAIL")
    }
    if case .confirm(let origin) = decision { return (origin, user) }
    guard let question = TerminalQuestion() else {
      throw WalletFailure(
        "there is no terminal to ask you on, and nothing was sent; give --confirm ORIGIN or --deny", code: .refused)
    }
    let text = "Sign the browser in at \(session.widgetOrigin) as \(DisplayText.line(user.text))? [y/N] "
    let isWanted = await question.ask(text)
    guard !Task.isCancelled else { throw WalletFailure("the browser was not answered", code: .interrupted) }
    return isWanted ? (session.widgetOrigin, user) : nil
  }

  private func companion(of service: KeyriService) -> KeyriCompanion {
    KeyriCompanion(
      origin: service.server, http: ports.http, keys: ports.socket, now: unixMilliseconds, randomness: .system)
  }

}

/// Milliseconds since 1970, by this machine's clock.
private func unixMilliseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_REALTIME, &now)
  return UInt64(max(0, now.tv_sec)) * 1000 + UInt64(now.tv_nsec / 1_000_000)
}
