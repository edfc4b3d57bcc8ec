import CLinux
import CTAP2
import ControlProtocol
import EventLoop
import Glibc
import HelperProcess
import ProcessIO

/// Shows dialogs with any pinentry of the user's desktop, over the Assuan protocol; or with `liquid-auth-prompt`, which
/// uses the same protocol.
///
/// If the program is missing, dies, hangs or breaks the protocol, the request is denied, and the log says what to do.
actor Pinentry: PromptBackEnd {
  /// How long a program may take for steps that need no person.
  struct Limits: Sendable {
    /// To get ready, in whole seconds.
    var setUp: Duration = .seconds(10)
    /// To close its window after its answer, or its notification after the end of its input; then it gets SIGTERM.
    var closing: Duration = .milliseconds(500)
    /// To end after SIGTERM; then it gets SIGKILL.
    var ending: Duration = .milliseconds(60)
  }

  /// What shows the dialog.
  enum Kind: Sendable {
    case pinentry
    /// A program like `ssh-askpass`.
    case askpass
    /// A notification with two buttons.
    case notifications

    var program: clinux_helper_program {
      switch self {
      case .pinentry: CLINUX_PINENTRY
      case .askpass: CLINUX_ASKPASS
      case .notifications: CLINUX_NOTIFICATIONS
      }
    }
  }

  private nonisolated let kind: Kind
  private let helper: HelperProcess
  /// The options, such as `name=value` for where to show its dialog.
  nonisolated let options: [String]
  private let searchPath: String
  private let hasDisplayOrTerminal: Bool
  private let limits: Limits
  /// Runs the task that waits for a program to end after its answer.
  private let executor: any TaskExecutor
  /// The program of the open dialog.
  private var session: PinentrySession?
  /// The kind of dialog that the program shows; `nil` if it did not say, or is no pinentry.
  private var flavor: String?
  /// Waits for the previous program to end, which may still be closing its window.
  private var closing: Task<Void, Never>?

  /// - Parameters:
  ///   - helper: starts the program, which inherits the environment.
  ///   - environment: looks up a variable.
  ///   - terminal: the daemon's own terminal, when it has one.
  ///   - acceptsMenus: whether a notification daemon may show the buttons only in a menu.
  init(
    _ kind: Kind = .pinentry, helper: HelperProcess, environment: (String) -> String?, terminal: String?,
    acceptsMenus: Bool = false, limits: Limits = Limits(), executor: any TaskExecutor
  ) {
    self.kind = kind
    self.helper = helper
    self.executor = executor
    self.limits = limits
    func locale(_ category: String) -> String? {
      ["LC_ALL", category, "LANG"].compactMap(environment).first { !$0.isEmpty }
    }
    let values = [
      ("ttyname", environment("GPG_TTY") ?? terminal), ("ttytype", environment("TERM")),
      ("lc-ctype", locale("LC_CTYPE").map(Self.characters)), ("lc-messages", locale("LC_MESSAGES")),
      ("display", environment("DISPLAY")),
    ]
    options =
      values.compactMap { name, value in value.flatMap { $0.isEmpty ? nil : "\(name)=\($0)" } }
      + (acceptsMenus ? ["notification-menu"] : [])
    searchPath = environment("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
    let places = ["DISPLAY", "WAYLAND_DISPLAY", "GPG_TTY"]
    hasDisplayOrTerminal = terminal != nil || places.contains { environment($0)?.isEmpty == false }
  }

  /// The locale for the characters of a terminal: `C.UTF-8` for every locale in UTF-8.
  ///
  /// In a locale that is not installed on the machine, pinentry-curses refuses texts with letters that are not ASCII.
  private static func characters(of locale: String) -> String {
    let encoding = locale.drop { $0 != "." }.dropFirst().prefix { $0 != "@" }
    return ["utf-8", "utf8"].contains(encoding.lowercased()) ? "C.UTF-8" : locale
  }

  // MARK: Report and problem

  /// What messages call the program: a path, or a name that is looked up in PATH.
  nonisolated var program: String {
    switch kind {
    case .pinentry: helper.program
    case .askpass: helper.askpass
    case .notifications: "liquid-auth-prompt"
    }
  }

  nonisolated var report: PromptReport {
    switch kind {
    case .pinentry: PromptReport(.pinentry, program: program)
    case .askpass: PromptReport(.askpass, program: program)
    case .notifications: PromptReport(.notifications)
    }
  }

  /// A notification can ask for presence only.
  nonisolated func suits(_ dialog: PromptText) -> Bool {
    kind != .notifications || dialog.isPresence && !dialog.takesPassphrase
  }

  nonisolated var notifications: (any PromptBackEnd)? { kind == .notifications ? self : nil }

  /// Reports a missing program, or a GnuPG pinentry without display and terminal; nothing is known of other programs.
  nonisolated var problem: Problem? {
    if let fault {
      let failure = PinentryFailure.notStarted(fault)
      return Problem("no prompt can be shown: \(failure.description(of: program, kind, ending: nil))")
    }
    guard kind == .pinentry, isOfGnuPG, !hasDisplayOrTerminal else { return nil }
    return Problem(
      "\(program) may be unable to show a dialog: the authenticator found no display and no terminal",
      hint: "start it from the desktop, set GPG_TTY, or start it in a terminal with --prompt terminal",
      kind: .noDisplay)
  }

  private nonisolated var isOfGnuPG: Bool {
    let name = program.split(separator: "/").last ?? ""
    return name == "pinentry" || name.hasPrefix("pinentry-")
  }

  /// Why the program cannot be started; `nil` if it can.
  ///
  /// EACCES means that there is such a file, and it cannot be executed.
  private nonisolated var fault: SystemNumber? {
    let program = kind == .notifications ? helper.prompt : program
    if program.isEmpty { return SystemNumber(ENOENT) }
    let paths =
      program.utf8.contains(UInt8(ascii: "/"))
      ? [program] : searchPath.split(separator: ":").map { "\($0)/\(program)" }
    var number = ENOENT
    for path in paths {
      if access(path, X_OK) == 0 { return nil }
      if errno == EACCES, access(path, F_OK) == 0 { number = EACCES }
    }
    return SystemNumber(number)
  }

  // MARK: A dialog

  func selfTest(within limit: Duration) async -> String? {
    if let fault {
      return PinentryFailure.notStarted(fault).description(of: program, kind, ending: nil)
    }
    // A program of another kind is not started without a dialog.
    guard kind == .notifications else { return nil }
    let failure = await OwnThread.run(cancellable: { [kind, helper, options, limits] cancellation -> PinentryFailure? in
      do throws(PinentryFailure) {
        let session = try PinentrySession(kind.program, by: helper)
        // No grace: the program has no notification to close.
        defer { _ = session.end(grace: .zero, thenKilledAfter: limits.ending) }
        try session.selfTest(options: options, within: limit, cancellation)
        return nil
      } catch {
        return error
      }
    })
    return failure?.map { $0.description(of: program, kind, ending: nil) }
  }

  /// Starts the program after the previous one has ended, and sends it the dialog's texts.
  func open(_ dialog: PromptText) async throws(PromptFailure) {
    let dialog = kind == .askpass ? dialog.refused(by: .cancel) : dialog
    await closing?.value
    closing = nil
    guard !Task.isCancelled else { throw .noAnswer(.cancelled) }
    let session = try await step { [kind, helper] _ throws(PinentryFailure) in
      try PinentrySession(kind.program, by: helper)
    }
    self.session = session
    flavor = nil
    flavor = try await step { [kind, options, limits] cancellation throws(PinentryFailure) in
      try session.prepare(
        dialog, isPinentry: kind == .pinentry, options: options, limits: limits, cancellation)
    }
  }

  var isOpen: Bool { session != nil }

  /// Whether GNOME's prompter shows the dialog, one prompt at a time: for pinentry-gnome3, and for a program like
  /// `gcr-ssh-askpass`, which does not say what it is.
  var canBeQueued: Bool { kind == .askpass || flavor == "gnome3" }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    guard let session else { throw .noAnswer(.unavailable) }
    return try await step { cancellation throws(PinentryFailure) in try session.ask(dialog, cancellation) }
  }

  /// Shows a text with no button, and does not wait for the user; only for notifications.
  func tell(_ text: PromptText) async throws(PromptFailure) {
    try await open(text)
    guard let session else { throw .noAnswer(.unavailable) }
    try await step { [limits] cancellation throws(PinentryFailure) in
      try session.tell(within: limits.setUp, cancellation)
    }
    self.session = nil
    _ = await Self.end(session, grace: limits.closing, limits)
  }

  /// Does not wait: a program that has answered ends by itself.
  func close() {
    guard let session else { return }
    self.session = nil
    closing = Task(executorPreference: executor) { [limits] in
      _ = await Self.end(session, grace: limits.closing, limits)
    }
  }

  func ended() async { await closing?.value }

  /// Runs `body`, which blocks, on a thread of its own; if it fails, ends the program before it throws.
  private func step<Answer: Sendable>(
    _ body: @escaping @Sendable (Cancellation) throws(PinentryFailure) -> Answer
  ) async throws(PromptFailure) -> Answer {
    let result = await OwnThread.run(cancellable: { cancellation in
      Result { () throws(PinentryFailure) in try body(cancellation) }
    })
    switch result {
    case nil: throw .unavailable("\(program) was not started: \(OwnThread.nothingLeft)")
    case .success(let answer): return answer
    case .failure(let failure):
      var ending: ChildProcess.Ending?
      if let session {
        self.session = nil
        // liquid-auth-prompt ends as soon as its input does, and has a notification to close first.
        let endsByItself = failure.endsByItself || kind != .pinentry
        ending = await Self.end(session, grace: endsByItself ? limits.closing : .zero, limits)
      }
      throw failure.outcome(of: program, kind, flavor: flavor, ending: ending)
    }
  }

  private static func end(
    _ session: PinentrySession, grace: Duration, _ limits: Limits
  ) async -> ChildProcess.Ending? {
    await OwnThread.run { session.end(grace: grace, thenKilledAfter: limits.ending) }
  }
}
