import ControlProtocol
import DisplayText
import Doctor

/// What `liquid-auth setup` says about the system and the authenticator.
enum SetupText {
  /// What prevents browsers from finding the key, as a paragraph; empty if nothing does.
  static func obstacle(_ system: SystemFindings, doctor: String) -> String {
    system.uhidProblem.map {
      """

      Until this is repaired, browsers cannot find a key on this machine:
      - \($0.text.printable)
      To check all parts, run: \(doctor)
      To see a sign-in without a browser, run: liquid-auth demo

      """
    } ?? ""
  }

  /// How the user starts the authenticator, as paragraphs.
  static func starting(_ system: SystemFindings, by start: String, setup: String) -> String {
    let unseen = system.uhidProblem == nil ? "" : "\nBrowsers do not see this key until /dev/uhid can be used.\n"
    return """
      Start the authenticator in another terminal, and leave it running:

          \(start)
      \(unseen)
      Waiting for it. Ctrl-C ends the set-up; to continue later, run: \(setup)

      """
  }

  /// What a transport means that browsers do not see, as one to three lines.
  ///
  /// - Parameter status: the command that shows the path of the device.
  static func unseen(_ transport: String, status: String) -> String {
    guard transport == "pty" else { return "The authenticator uses \(transport), which browsers do not see.\n" }
    return """
      The authenticator uses a pseudo terminal (pty), which browsers do not see.
      Programs such as fido2-token open it by its path; to see that, run:
      \(status)

      """
  }

  /// How to see a sign-in, in a session without a desktop; one or two lines.
  static func withoutDesktop(_ status: AuthenticatorStatus?) -> String {
    let session = "There is no desktop in this session"
    return status?.device.otherTransport == nil
      ? "\(session). On the desktop, run: liquid-auth demo --browser\n"
      : "\(session), and browsers do not see this key.\nTo see a sign-in without a browser, run: liquid-auth demo\n"
  }

  /// What to do next, as one to three lines.
  ///
  /// - Parameters:
  ///   - status: the authenticator's, after the first sign-in; `nil` if it gives none.
  ///   - hasSignedIn: whether the first sign-in succeeded, which shows that a browser can use the key.
  static func closing(
    _ status: AuthenticatorStatus?, system: SystemFindings, hasSignedIn: Bool, doctor: String
  ) -> String {
    var lines: [String] = []
    let isUsable = status.map { $0.device.attached && [.locked, .unlocked].contains($0.vault.condition) } ?? false
    if hasSignedIn || isUsable && status?.device.otherTransport == nil {
      lines.append("Register your key at a site with passkeys now, such as https://webauthn.io.")
    } else if isUsable {
      let moment = system.uhidProblem == nil ? "" : ",\nas soon as /dev/uhid can be used"
      lines.append(
        "Browsers do not see this key. To use it in browsers, start the authenticator without --transport\(moment).")
    }
    if status.map({ !StatusReport(running: $0, system: system).problems.isEmpty }) ?? true {
      lines.append("Problems remain; to see them, run: \(doctor)")
    }
    return lines.joined(separator: "\n")
  }

  /// What the phrase brings back, and a backup, as a paragraph.
  ///
  /// - Parameters:
  ///   - status: the authenticator's; `nil` if it gives none. An open vault shows the time of the last backup.
  ///   - backup: the command that makes one.
  static func recovery(_ status: AuthenticatorStatus?, backup: String) -> String {
    let text = """
      On a new machine, liquid-auth setup and your phrase bring back second
      factors, passkeys whose id the site sends, PRF secrets and Algorand
      accounts. A backup also brings back names of accounts, large blobs and
      sign-in without a user name
      """
    guard let time = status?.backup.written else { return "\(text); to make one, run:\n\(backup)" }
    return "\(text).\nThe last backup was made on \(UTCTime(milliseconds: time).text)."
  }
}
