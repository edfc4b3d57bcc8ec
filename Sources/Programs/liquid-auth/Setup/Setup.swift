import ControlProtocol
import Doctor
import Glibc
import ProcessIO
import Recovery
import StateDirectory

/// The steps of `liquid-auth setup`, in order; each skips what is already done.
struct Setup {
  let terminal: TerminalDevice
  let place: PlaceOptions

  /// Runs all steps.
  ///
  /// - Throws: ``CommandFailure/cancelled`` after Ctrl-C; else why a step failed. What was done until then stays.
  func run() throws(CommandFailure) {
    terminal.show("Set up passkeys on this machine, in five steps. Ctrl-C ends this; you can\ncontinue later.\n")
    if try status() == nil { terminal.show(SetupText.obstacle(.current, doctor: command("liquid-auth doctor"))) }
    let (path, passkeys) = try makeVault()
    let wantsPIN = try chooseVerification(of: path, isNew: passkeys != nil)
    try start()
    if wantsPIN { try setPIN() }
    let outcome = try signIn(passkeys)
    finish(path, outcome)
    if outcome == .failed {
      throw CommandFailure("the first sign-in failed", hint: "find the cause with:", run: ["liquid-auth", "doctor"])
    }
  }

  /// One of our commands with the place options.
  private func command(_ words: String) -> String { (words + place.arguments).printable }

  private func showHeading(_ number: Int, _ title: String) { terminal.show("\n\(number). \(title)\n\n") }

  // MARK: 1

  /// Makes the vault if there is none.
  ///
  /// - Returns: its directory, and how many passkeys the store of a new vault has.
  private func makeVault() throws(CommandFailure) -> (path: String, passkeys: Int?) {
    showHeading(1, "Phrase and passphrase")
    let path = try place.statePath()
    let finding = VaultFinding(at: path)
    if finding.isThere == true, finding.problem == nil {
      terminal.show("Already done: the vault is in \(path.printable).\n")
      return (path, nil)
    }
    // Without a vault, the only problem may be that nothing is there yet.
    if let problem = finding.problem, finding.isThere != false { throw CommandFailure(problem) }
    terminal.show(
      """
      All passkeys come from a phrase of 12 to 24 words. It is never stored:
      keep it on paper. With it, you get your passkeys back on any machine.
      The passphrase, which you choose next, unlocks the vault on this machine
      only.


      """)
    let choice = try terminal.choose([
      "make a new phrase", "type a phrase that I have on paper", "type SLIP-39 shares that I have on paper",
    ])
    let source: InitCommand.Source =
      switch choice {
      case 0: .newPhrase(words: 24)
      case 1: .existingPhrase
      default: .existingShares
      }
    let made: (path: String, fingerprint: [UInt8], passkeys: Int?)
    do throws(CommandFailure) {
      made = try InitCommand.make(in: path, ask: source, form: nil)
    } catch {
      guard error == .cancelledAfterPhrase else { throw error }
      throw CommandFailure(
        "cancelled; no vault was made", hint: "keep the paper: to use its phrase, choose 2 in:",
        run: ["liquid-auth", "setup"])
    }
    terminal.show(
      """

      made \(made.path.printable)
      The fingerprint of the phrase is \(made.fingerprint.hexadecimal), the same on every machine. You can
      write it on the paper, too.

      """)
    return (path, made.passkeys ?? 0)
  }

  // MARK: 2

  /// Explains passphrase and PIN; returns whether to set a PIN after the start.
  ///
  /// - Parameters:
  ///   - path: the state directory.
  ///   - isNew: whether the vault was just made; otherwise, a running authenticator shows that the choice was made.
  private func chooseVerification(of path: String, isNew: Bool) throws(CommandFailure) -> Bool {
    showHeading(2, "How the key verifies you")
    // It is not known before the start; then the passphrase verifies, as by default.
    let information = try? place.connect().keyInformation()
    let isByPassphrase = information?.canVerify ?? true
    if information?.isPINSet ?? Self.hasPIN(path) {
      let passphrase = information?.canVerify == true ? ", and the passphrase verifies you too" : ""
      terminal.show("Already done: a PIN is set\(passphrase).\n")
      return false
    }
    if information != nil, isByPassphrase, !isNew {
      terminal.show(
        """
        Already done: the passphrase verifies you. For programs that need a PIN, run:
        \(command("liquid-auth pin set"))

        """)
      return false
    }
    terminal.show(
      """
      Each registration and sign-in shows a dialog that names the site. Some
      sites require verification, not only a click. \(isByPassphrase
        ? "Then the dialog asks for\nthe vault's passphrase. No PIN is needed for that."
        : "The authenticator runs\nwith --verification none, so that only a PIN verifies you.")

      Some programs, such as ssh-keygen with resident keys, verify by PIN only.
      A PIN has at least 4 characters, belongs to this machine, and encrypts
      nothing. You can set one later, too: \(command("liquid-auth pin set"))


      """)
    let choices =
      isByPassphrase
      ? ["the passphrase alone", "the passphrase, and a PIN for programs that need one"]
      : ["no verification", "a PIN"]
    return try terminal.choose(choices) == 1
  }

  /// Whether the store, which no authenticator has open, keeps a PIN.
  private static func hasPIN(_ path: String) -> Bool {
    (try? StateDirectory(opening: path))?.reportedSettings().isPINSet ?? false
  }

  /// Sets the PIN, as `liquid-auth pin set` does, unless there is one, as only an open vault can show.
  private func setPIN() throws(CommandFailure) {
    terminal.show("\nThe PIN: first the vault's passphrase, then the new PIN twice.\n\n")
    do throws(CommandFailure) {
      try PINCommand.setPIN(at: place, check: PINCommand.refuseSecond)
    } catch  where error == .pinIsSet {
      return terminal.show("Already done: a PIN is set.\n")
    }
    terminal.show("the PIN is set\n")
  }

  // MARK: 3

  /// Starts the authenticator, or waits until the user has started it.
  private func start() throws(CommandFailure) {
    showHeading(3, "Start")
    if let status = try status() {
      terminal.show("Already done: the authenticator runs.\n")
      try repair(status)
      return
    }
    if UserService.isFor(place), UserService.isInstalled {
      terminal.show("Starting the authenticator for this login and all later ones:\n\n    \(UserService.command)\n\n")
      try UserService.enable()
      try repair(try waitForAnswer(until: .now + .seconds(60)))
    } else {
      let system = SystemFindings.current
      terminal.show(
        SetupText.starting(
          system, by: command(system.starting.joined(separator: " ")), setup: command("liquid-auth setup")))
      try repair(try waitForAnswer(until: nil))
    }
  }

  /// The authenticator's status; `nil` if it does not run.
  ///
  /// Waits up to a minute for an authenticator that has started but does not listen yet.
  private func status() throws(CommandFailure) -> AuthenticatorStatus? {
    do throws(CommandFailure) {
      return try place.connect(timeout: .seconds(60)) { process in
        terminal.show(
          """
          The authenticator runs as process \(process), but does not listen yet.
          The set-up waits up to a minute for it.

          """)
      }.ask(GetStatus())
    } catch {
      guard error.code == .notRunning else { throw error }
      return nil
    }
  }

  /// - Parameter deadline: that of the user service; without one, the user starts the authenticator and may take long.
  private func waitForAnswer(until deadline: ContinuousClock.Instant?) throws(CommandFailure) -> AuthenticatorStatus {
    while true {
      do throws(CommandFailure) {
        if let status = try status() {
          terminal.show("The authenticator runs.\n")
          return try waitForDevice(status)
        }
      } catch {
        // The service's socket answers before the service does, and closes the connection if that fails.
        guard deadline != nil else { throw error }
      }
      if let deadline, deadline < .now {
        throw CommandFailure(
          "the authenticator does not answer; its log is in: journalctl --user --unit liquid-authenticator")
      }
      usleep(300_000)
    }
  }

  /// Waits up to half a minute for the device: an authenticator answers before the device is attached.
  private func waitForDevice(_ first: AuthenticatorStatus) throws(CommandFailure) -> AuthenticatorStatus {
    var status = first
    let deadline = ContinuousClock.now + .seconds(30)
    while StatusReport(running: status, system: .current).isDetachedWithoutReason, .now < deadline {
      usleep(300_000)
      guard let next = try self.status() else { break }
      status = next
    }
    return status
  }

  /// Shows the problems until they are repaired, or the user continues.
  private func repair(_ first: AuthenticatorStatus) throws(CommandFailure) {
    var status = first
    while true {
      let problems = StatusReport(
        running: status, system: .current, hasBackupService: BackupService.isFor(place)
      ).problems
      guard !problems.isEmpty else {
        if let other = status.device.otherTransport {
          terminal.show(SetupText.unseen(other.printable, status: command("liquid-auth status")))
        }
        return
      }
      terminal.show("\nThere are problems:\n")
      for problem in problems {
        terminal.show("- \(problem.text(with: place.arguments).printable)\n".wrappedForTerminal)
      }
      var answer: String
      repeat {
        answer = try terminal.ask("Press Enter to check again, or s and Enter to continue anyway: ").lowercased()
      } while !["", "s"].contains(answer)
      if answer == "s" { return }
      // The service reads the display and the limits only when it starts.
      if UserService.isFor(place), UserService.restart() {
        status = try waitForAnswer(until: .now + .seconds(60))
        continue
      }
      guard let next = try self.status() else {
        throw CommandFailure("the authenticator has ended", hint: "to continue, run:", run: ["liquid-auth", "setup"])
      }
      status = next
    }
  }

  // MARK: 4

  /// How the first sign-in ended.
  enum SignInOutcome {
    case succeeded
    /// The user skipped or stopped it.
    case skipped
    /// A check failed, or another key made the passkey.
    case failed
  }

  /// Offers the demo in the user's browser.
  ///
  /// - Parameter passkeys: how many are stored, if known; counts only while the vault is locked.
  private func signIn(_ passkeys: Int?) throws(CommandFailure) -> SignInOutcome {
    showHeading(4, "A first sign-in, in your own browser")
    guard environmentVariable("DISPLAY") != nil || environmentVariable("WAYLAND_DISPLAY") != nil else {
      terminal.show(SetupText.withoutDesktop(try status()))
      return .skipped
    }
    terminal.show(
      """
      A page on this machine, at http://localhost, registers a test passkey and
      signs in with it. It needs no Internet. Press its buttons from top to
      bottom. If the browser asks where to save the passkey, choose "security
      key". Then a dialog of Liquid Auth names the site "localhost" and asks for
      your consent, or your passphrase.


      """)
    guard try terminal.choose(["open the page now", "not now"]) == 0 else { return .skipped }
    terminal.show("\n")
    let before = try status()?.store.credentials ?? passkeys.map(UInt64.init)
    let results = try BrowserDemo(port: 0, opensBrowser: true, isJSON: false).run()
    let after = try status()?.store.credentials
    let isOfAnotherKey = !results.storedIDs.isEmpty && before != nil && after == before
    guard !results.holds || isOfAnotherKey else { return .succeeded }
    let isStopped = results.failures == 0 && !isOfAnotherKey
    if results.holds {
      terminal.show(
        """

        Another key or a password manager made the passkey, not Liquid Auth.
        In the browser, choose "security key".

        """)
    }
    terminal.show(
      """

      If the browser does not find the key, find the cause with: \(command("liquid-auth doctor"))
      To try it again, run: liquid-auth demo --browser

      """)
    return isStopped ? .skipped : .failed
  }

  // MARK: 5

  private func finish(_ path: String, _ outcome: SignInOutcome) {
    showHeading(5, "Done")
    let status = try? status()
    let closing = SetupText.closing(
      status, system: .current, hasSignedIn: outcome == .succeeded, doctor: command("liquid-auth doctor"))
    terminal.show(
      """
      \(closing)

      \(SetupText.recovery(status, backup: command("liquid-auth backup FILE")))

      vault      \(path.printable)/vault
      state      \(command("liquid-auth status"))
      recovery   man liquid-auth-recover

      """)
  }
}

// MARK: - Questions

extension TerminalDevice {
  /// Asks for one of several things, up to three times; Enter takes the first.
  ///
  /// - Returns: its index.
  fileprivate func choose(_ choices: [String]) throws(CommandFailure) -> Int {
    for (index, choice) in choices.enumerated() { show("  \(index + 1)  \(choice)\n") }
    for _ in 0..<PassphraseDialogue.tries {
      let answer = try ask("Your choice, 1 to \(choices.count) [1]: ")
      if answer.isEmpty { return 0 }
      if let number = Int(answer), 1...choices.count ~= number { return number - 1 }
      show("this is not a number from 1 to \(choices.count)\n")
    }
    throw CommandFailure("nothing was chosen", hint: "to continue, run:", run: ["liquid-auth", "setup"])
  }
}
