import Assuan
import CLinux
import CTAP2
import ControlProtocol
import CryptoPrimitives
import Glibc
import HelperProcess
import ProcessIO

/// One run of a pinentry: start it, send the text of one dialog, ask, end it.
///
/// Each call blocks, and belongs on a thread of its own.
struct PinentrySession: Sendable {
  private let child: ChildProcess

  /// Starts the program.
  init(_ program: clinux_helper_program, by helper: HelperProcess) throws(PinentryFailure) {
    do {
      child = try ChildProcess(program, by: helper)
    } catch {
      throw .notStarted(error)
    }
  }

  /// Reads the greeting and sends the text of the dialog; nothing is shown yet.
  ///
  /// - Parameter isPinentry: whether the program may say what it is.
  /// - Returns: the kind of dialog that a pinentry shows, such as `gnome3` or `qt`; `nil` if the program does not say.
  func prepare(
    _ text: PromptText, isPinentry: Bool, options: [String], limits: Pinentry.Limits, _ cancellation: Cancellation
  ) throws(PinentryFailure) -> String? {
    let deadline = ContinuousClock.now + limits.setUp
    do {
      try acknowledgement(until: deadline, cancellation)
      for option in options { try send(option: "OPTION", option, until: deadline, cancellation) }
      try send(option: "SETTIMEOUT", "\(UserPrompter.requestTimeout.components.seconds)", until: deadline, cancellation)
      let flavor = isPinentry ? try self.flavor(until: deadline, cancellation) : nil
      try send("SETTITLE", PromptText.title, until: deadline, cancellation)
      // GNOME's prompter shows it as the heading, also of a dialog without a field, and has no label beside a field.
      let hasHeading = flavor == "gnome3"
      let prompt = hasHeading ? text.heading : text.takesPassphrase ? text.label : PromptText.title
      try send("SETDESC", hasHeading ? text.textBelowHeading : text.description, until: deadline, cancellation)
      try send("SETPROMPT", prompt, until: deadline, cancellation)
      try send("SETOK", text.agree, until: deadline, cancellation)
      try send("SETCANCEL", text.refuse, until: deadline, cancellation)
      return flavor
    } catch .noAnswer(.timedOut) {
      throw .silent(seconds: Int(limits.setUp.components.seconds))
    }
  }

  /// Asks `liquid-auth-prompt` whether it can show a dialog.
  func selfTest(
    options: [String], within limit: Duration, _ cancellation: Cancellation
  ) throws(PinentryFailure) {
    let deadline = ContinuousClock.now + limit
    do {
      try acknowledgement(until: deadline, cancellation)
      for option in options { try send(option: "OPTION", option, until: deadline, cancellation) }
      try send("GETINFO", "self-test", until: deadline, cancellation)
    } catch .noAnswer(.timedOut) {
      throw .silent(seconds: Int(limit.components.seconds))
    }
  }

  private func flavor(
    until deadline: ContinuousClock.Instant, _ cancellation: Cancellation
  ) throws(PinentryFailure) -> String? {
    do {
      try write("GETINFO", "flavor", until: deadline, cancellation)
      return try secret(until: deadline, cancellation).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    } catch .refused {
      return nil
    }
  }

  /// Shows the dialog and waits for the person.
  func ask(_ dialog: PromptText, _ cancellation: Cancellation) throws(PinentryFailure) -> PromptAnswer {
    // `UserPrompter` withdraws the dialog sooner.
    let deadline = ContinuousClock.now + UserPrompter.requestTimeout + .seconds(5)
    // Pinentries without a place for it beside two buttons show the warning's lines only.
    if let words = dialog.remark ?? dialog.warning { try send("SETERROR", words, until: deadline, cancellation) }
    guard dialog.takesPassphrase else {
      try send("CONFIRM", until: deadline, cancellation)
      return .agreed
    }
    try write("GETPIN", nil, until: deadline, cancellation)
    return .typed(try secret(until: deadline, cancellation))
  }

  /// Shows the text without a question.
  func tell(within limit: Duration, _ cancellation: Cancellation) throws(PinentryFailure) {
    try send("MESSAGE", until: ContinuousClock.now + limit, cancellation)
  }

  /// Ends the program; `grace` is for one that has answered and closes its window by itself.
  ///
  /// - Returns: how it ended, if it ended by itself.
  func end(grace: Duration, thenKilledAfter timeout: Duration) -> ChildProcess.Ending? {
    child.end(grace: grace, thenKilledAfter: timeout)
  }

  /// Sends an option that a pinentry may not know; a refusal is ignored.
  private func send(
    option command: String, _ value: String, until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation
  ) throws(PinentryFailure) {
    do {
      try send(command, value, until: deadline, cancellation)
    } catch .refused {}
  }

  /// Sends a command whose reply has no data.
  private func send(
    _ command: String, _ argument: String? = nil, until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation
  ) throws(PinentryFailure) {
    try write(command, argument, until: deadline, cancellation)
    try acknowledgement(until: deadline, cancellation)
  }

  private func write(
    _ command: String, _ argument: String?, until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation
  ) throws(PinentryFailure) {
    var line: [UInt8]
    do {
      line = try AssuanLine.command(command, argument)
    } catch {
      throw .garbled
    }
    while !line.isEmpty {
      try wait(for: child.input, POLLOUT, until: deadline, cancellation)
      let count = line.withUnsafeBytes { Glibc.write(child.input, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      // EPIPE: it has ended; what it wrote before is still to be read.
      guard count > 0 else { break }
      line.removeFirst(count)
    }
  }

  /// Reads until OK; discards the data before it.
  private func acknowledgement(
    until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation
  ) throws(PinentryFailure) {
    _ = try withWipedBytes(count: Self.replySize) { memory throws(PinentryFailure) in
      try read(memory, until: deadline, cancellation).count
    }
  }

  /// Reads until OK, into guarded memory; returns the data before it.
  private func secret(
    until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation
  ) throws(PinentryFailure) -> SecretBytes {
    var found: SecretBytes?
    _ = try SecretBytes(count: Self.replySize) { memory throws(PinentryFailure) in
      found = SecretBytes(copying: try read(memory, until: deadline, cancellation))
    }
    return found ?? SecretBytes(count: 0) { _ in }
  }

  /// Two lines, and the data.
  private static let replySize = linesSize + ControlMessage.maximumPassphraseSize
  private static let linesSize = 2 * AssuanLine.limit

  /// Reads until OK.
  ///
  /// - Returns: the part of `memory` that holds the data.
  private func read(
    _ memory: UnsafeMutableRawBufferPointer, until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation
  ) throws(PinentryFailure) -> UnsafeRawBufferPointer {
    var lines = AssuanLineBuffer(memory: UnsafeMutableRawBufferPointer(rebasing: memory[..<Self.linesSize]))
    let data = UnsafeMutableRawBufferPointer(rebasing: memory[Self.linesSize...])
    var length = 0
    var isClosed = false
    while true {
      guard let line = try Self.assuan({ () throws(AssuanLine.Fault) in try lines.nextLine() }) else {
        try wait(for: child.output, POLLIN, until: deadline, cancellation)
        let count = Glibc.read(child.output, lines.free.baseAddress, lines.free.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw .system(SystemNumber(errno)) }
        guard count > 0 else { throw .ended }
        lines.received(count)
        continue
      }
      switch try Self.assuan({ () throws(AssuanLine.Fault) in try AssuanLine.reply(line) }) {
      case .remark: continue
      case .closed: isClosed = true
      case .data(let range):
        do {
          length += try AssuanLine.unescape(
            UnsafeRawBufferPointer(rebasing: line[range]),
            into: UnsafeMutableRawBufferPointer(rebasing: data[length...]))
        } catch {
          throw error == .tooLong ? .overlong : .garbled
        }
      case .error(let code, let text): throw Self.stop(code, text, isClosed: isClosed)
      case .ok:
        // A pinentry sends nothing without a request.
        guard lines.isEmpty else { throw .garbled }
        return UnsafeRawBufferPointer(rebasing: data[..<length])
      }
    }
  }

  private static func assuan<Result>(
    _ body: () throws(AssuanLine.Fault) -> Result
  ) throws(PinentryFailure) -> Result {
    do { return try body() } catch { throw .garbled }
  }

  private static func stop(_ code: UInt32, _ text: String, isClosed: Bool) -> PinentryFailure {
    switch AssuanError(code: code) {
    case .timedOut: .noAnswer(.timedOut)
    case .cancelled, .notConfirmed, .fullyCancelled: isClosed ? .closed : .noAnswer(.declined)
    default: .refused(text.isEmpty ? "error \(code)" : text)
    }
  }

  private func wait(
    for descriptor: Int32, _ events: Int32, until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation
  ) throws(PinentryFailure) {
    switch cancellation.wait(for: descriptor, events, until: deadline) {
    case .ready: return
    case .cancelled: throw .noAnswer(.cancelled)
    case .timedOut: throw .noAnswer(.timedOut)
    }
  }
}

/// Why a step of a pinentry failed.
enum PinentryFailure: Error, Equatable, Sendable {
  /// The person did not answer, or the client withdrew the request.
  case noAnswer(UserInteractionError)
  /// The user closed the dialog without pressing a button.
  case closed
  /// It could not be started.
  case notStarted(SystemNumber)
  /// It closed its output, usually because it ended.
  case ended
  /// It did not answer within so many seconds, where an answer needs no person.
  case silent(seconds: Int)
  /// Its output is not Assuan.
  case garbled
  /// It refused, with this message.
  case refused(String)
  /// What was typed is longer than any passphrase.
  case overlong
  /// Another system call failed.
  case system(SystemNumber)

  /// Whether the program ends by itself.
  var endsByItself: Bool {
    switch self {
    case .noAnswer(.declined), .closed, .ended, .refused: true
    default: false
    }
  }

  /// The failure of the dialog.
  ///
  /// - Parameters:
  ///   - flavor: what the pinentry said that it is.
  ///   - ending: how the program ended, if it ended by itself.
  func outcome(
    of program: String, _ kind: Pinentry.Kind, flavor: String?, ending: ChildProcess.Ending?
  ) -> PromptFailure {
    switch self {
    case .noAnswer(let error): .noAnswer(error)
    case .closed: .closed
    default: .unavailable(description(of: program, kind, flavor: flavor, ending: ending))
    }
  }

  /// For the log: what happened, then what to do.
  func description(
    of program: String, _ kind: Pinentry.Kind, flavor: String? = nil, ending: ChildProcess.Ending?
  ) -> String {
    switch self {
    case .noAnswer(let error): "\(program) did not answer: \(error)"
    case .closed: "\(program) did not answer: closed"
    case .notStarted(let number):
      "cannot start \(program): \(number); \(kind.remedy(for: number))"
    case .ended:
      "\(program) \(Self.words(for: ending)) before it answered; run it by hand to see why, or \(kind.instead)"
    case .silent(let seconds):
      "\(program) did not answer within \(seconds) s and was stopped; \(kind.instead)"
    case .garbled:
      "\(program) does not speak the Assuan protocol; is it a pinentry? \(kind.instead)"
    // The flavor is `gnome3:curses` if the pinentry found no prompter.
    case .refused(let words) where flavor?.hasPrefix("gnome3") == true:
      "\(program) cannot show a dialog: \(words); it needs a screen that is not locked, and GNOME's prompter "
        + "(org.gnome.keyring.SystemPrompter) on the session bus with the variables of the desktop; in a terminal of "
        + "the desktop, run: dbus-update-activation-environment --systemd DISPLAY WAYLAND_DISPLAY XAUTHORITY "
        + "DBUS_SESSION_BUS_ADDRESS; then restart the authenticator; or \(kind.instead)"
    case .refused(let words) where kind == .pinentry:
      "\(program) cannot show a dialog: \(words); it needs DISPLAY or WAYLAND_DISPLAY, or a terminal in GPG_TTY: "
        + "set one, or \(kind.instead)"
    // The words of liquid-auth-prompt name what failed.
    case .refused(let words): kind == .askpass ? "\(words); \(kind.instead)" : words
    case .overlong:
      "\(program) answered with more than \(ControlMessage.maximumPassphraseSize) bytes; type the passphrase again"
    case .system(let number):
      "cannot talk to \(program): \(number)"
    }
  }

  private static func words(for ending: ChildProcess.Ending?) -> String {
    switch ending {
    case .exited(let status): "ended with status \(status)"
    case .killed(let signal): "was ended by signal \(signal)"
    case nil: "closed its output"
    }
  }
}

extension Pinentry.Kind {
  /// What to do if the program cannot be started.
  fileprivate func remedy(for number: SystemNumber) -> String {
    switch self {
    case .pinentry where number == SystemNumber(EACCES):
      "make it executable, or name another with --pinentry PROGRAM"
    case .askpass where number == SystemNumber(EACCES):
      "make it executable, or name another with --askpass PROGRAM"
    case .pinentry:
      "install it (on Debian and Ubuntu: apt install pinentry-gnome3, pinentry-qt or pinentry-curses) or name another "
        + "with --pinentry PROGRAM"
    case .askpass: "install it, or name another with --askpass PROGRAM"
    case .notifications: "install liquid-auth again"
    }
  }

  /// What to use in its place.
  fileprivate var instead: String {
    switch self {
    case .pinentry: "name another with --pinentry PROGRAM, or use --prompt terminal"
    case .askpass: "name another with --askpass PROGRAM, or use --prompt pinentry"
    case .notifications: "use --prompt pinentry"
    }
  }
}
