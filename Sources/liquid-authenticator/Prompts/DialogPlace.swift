import Glibc

/// What can be said of dialogs before anybody is asked.
enum DialogPlace {
  /// Why dialogs cannot, or may not, be shown, and what to do; `nil` where no reason is known.
  ///
  /// What a pinentry makes of a desktop that is there is its own affair, and so is all that another program does which
  /// only speaks its protocol.
  static func problem(_ prompt: PromptChoice, pinentry: String) -> String? {
    switch prompt {
    case .terminal:
      let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
      guard terminal < 0 else {
        close(terminal)
        return nil
      }
      return "nobody can be asked: the authenticator has no terminal; start it in one, or with --prompt pinentry"
    case .pinentry:
      guard isThere(pinentry) else {
        let failure = PinentryFailure.notStarted(SystemNumber(ENOENT))
        return "nobody can be asked: \(failure.description(of: pinentry, ending: nil))"
      }
      guard isPinentry(pinentry), !hasDisplayOrTerminal else { return nil }
      return "\(pinentry) may be unable to show a dialog: the authenticator found no display and no terminal; "
        + "start it from the desktop, set GPG_TTY, or start it in a terminal with --prompt terminal"
    }
  }

  /// Whether a program is one of GnuPG's, by its name.
  private static func isPinentry(_ program: String) -> Bool {
    let name = program.split(separator: "/").last ?? ""
    return name == "pinentry" || name.hasPrefix("pinentry-")
  }

  private static func isThere(_ program: String) -> Bool {
    if program.utf8.contains(UInt8(ascii: "/")) { return access(program, X_OK) == 0 }
    let folders = Environment.value("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
    return folders.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
  }

  private static var hasDisplayOrTerminal: Bool {
    let names = ["DISPLAY", "WAYLAND_DISPLAY", "GPG_TTY"]
    return names.contains { Environment.value($0)?.isEmpty == false } || ControllingTerminal.name != nil
  }
}
