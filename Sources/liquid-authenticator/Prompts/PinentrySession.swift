import CTAP2
import ControlDoor
import CryptoPrimitives
import Glibc

/// One run of a pinentry: started, told the words of one dialog, asked, ended.
///
/// Each call blocks, and belongs on a thread of its own.
struct PinentrySession: Sendable {
  /// Why a step came to nothing.
  enum Stop: Error, Equatable {
    /// For the person's reasons, or the client's.
    case interaction(UserInteractionError)
    case failure(PinentryFailure)
  }

  private let child: ChildProcess

  /// Starts the program.
  init(starting program: String) throws(Stop) {
    do {
      child = try ChildProcess(starting: program)
    } catch {
      throw .failure(.notStarted(error))
    }
  }

  /// Reads the greeting and says the words of the dialog; a person sees nothing yet.
  func prepare(
    _ text: PromptText, options: [String], limits: Pinentry.Limits, _ cancellation: Cancellation
  ) throws(Stop) {
    let deadline = ContinuousClock.now + limits.setUp
    do {
      _ = try replies(until: deadline, cancellation)
      for option in options { try send(option: "OPTION", option, until: deadline, cancellation) }
      try send(option: "SETTIMEOUT", "\(limits.answer.components.seconds)", until: deadline, cancellation)
      try send("SETTITLE", PromptText.title, until: deadline, cancellation)
      try send("SETDESC", text.description, until: deadline, cancellation)
      try send("SETPROMPT", PromptText.entryLabel, until: deadline, cancellation)
      try send("SETOK", text.agree, until: deadline, cancellation)
      try send("SETCANCEL", text.refuse, until: deadline, cancellation)
    } catch .interaction(.timedOut) {
      throw .failure(.silent(seconds: Int(limits.setUp.components.seconds)))
    }
  }

  /// Shows the dialog with two buttons and waits for the person.
  func confirm(limit: Duration, _ cancellation: Cancellation) throws(Stop) {
    try send("CONFIRM", until: .now + limit, cancellation)
  }

  /// Shows the dialog with a field, and above it what was wrong with the last try.
  func passphrase(error: String?, limit: Duration, _ cancellation: Cancellation) throws(Stop) -> SecretBytes {
    let deadline = ContinuousClock.now + limit
    if let error { try send("SETERROR", error, until: deadline, cancellation) }
    return try send("GETPIN", until: deadline, cancellation)
  }

  /// Ends the program; `grace` is for one that has answered and closes its window by itself.
  ///
  /// - Returns: how it ended, when it did so by itself.
  func end(grace: Duration, thenKilledAfter patience: Duration) -> ChildProcess.Ending? {
    child.end(grace: grace, thenKilledAfter: patience)
  }

  /// Sends what a pinentry may not know, which is no reason not to ask the person.
  private func send(
    option command: String, _ value: String, until deadline: ContinuousClock.Instant, _ cancellation: Cancellation
  ) throws(Stop) {
    do {
      try send(command, value, until: deadline, cancellation)
    } catch .failure(.refused) {}
  }

  @discardableResult
  private func send(
    _ command: String, _ argument: String? = nil, until deadline: ContinuousClock.Instant, _ cancellation: Cancellation
  ) throws(Stop) -> SecretBytes {
    var line: [UInt8]
    do {
      line = try AssuanLine.command(command, argument)
    } catch {
      throw .failure(.garbled)
    }
    while !line.isEmpty {
      try wait(for: child.input, POLLOUT, until: deadline, cancellation)
      let count = line.withUnsafeBytes { write(child.input, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      // EPIPE: it has ended, and what it said before it did is still to be read.
      guard count > 0 else { break }
      line.removeFirst(count)
    }
    return try replies(until: deadline, cancellation)
  }

  /// Reads until OK, and gives the data that came before it.
  ///
  /// What is read stays in guarded memory, and is wiped on return.
  private func replies(
    until deadline: ContinuousClock.Instant, _ cancellation: Cancellation
  ) throws(Stop) -> SecretBytes {
    var found: SecretBytes?
    let size = 2 * AssuanLine.limit
    _ = try SecretBytes(count: size + ControlMessage.maximumPassphraseSize) { memory throws(Stop) in
      var lines = AssuanLineBuffer(memory: UnsafeMutableRawBufferPointer(rebasing: memory[..<size]))
      var data = UnsafeMutableRawBufferPointer(rebasing: memory[size...])
      let length = try read(&lines, into: &data, until: deadline, cancellation)
      found = SecretBytes(copying: UnsafeRawBufferPointer(rebasing: memory[size..<size + length]))
    }
    return found ?? SecretBytes(count: 0) { _ in }
  }

  /// - Returns: how many bytes of data came.
  private func read(
    _ lines: inout AssuanLineBuffer, into data: inout UnsafeMutableRawBufferPointer,
    until deadline: ContinuousClock.Instant, _ cancellation: Cancellation
  ) throws(Stop) -> Int {
    var length = 0
    while true {
      guard let line = try Self.assuan({ () throws(AssuanLine.Fault) in try lines.nextLine() }) else {
        try wait(for: child.output, POLLIN, until: deadline, cancellation)
        let count = Glibc.read(child.output, lines.free.baseAddress, lines.free.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw .failure(.system(SystemNumber(errno))) }
        guard count > 0 else { throw .failure(.ended) }
        lines.received(count)
        continue
      }
      switch try Self.assuan({ () throws(AssuanLine.Fault) in try AssuanLine.reply(line) }) {
      case .remark: continue
      case .data(let range):
        do {
          length += try AssuanLine.unescape(
            UnsafeRawBufferPointer(rebasing: line[range]),
            into: UnsafeMutableRawBufferPointer(rebasing: data[length...]))
        } catch {
          throw .failure(error == .tooLong ? .overlong : .garbled)
        }
      case .error(let code, let text): throw Self.stop(code, text)
      case .ok:
        // It speaks only when it is asked.
        guard lines.isEmpty else { throw .failure(.garbled) }
        return length
      }
    }
  }

  private static func assuan<Result>(_ body: () throws(AssuanLine.Fault) -> Result) throws(Stop) -> Result {
    do {
      return try body()
    } catch {
      throw .failure(.garbled)
    }
  }

  /// libgpg-error's codes, without the part that says which program speaks.
  private static func stop(_ code: UInt32, _ text: String) -> Stop {
    switch code & 0xFFFF {
    case 62: .interaction(.timedOut)  // GPG_ERR_TIMEOUT
    case 99, 114, 198: .interaction(.declined)  // GPG_ERR_CANCELED, GPG_ERR_NOT_CONFIRMED, GPG_ERR_FULLY_CANCELED
    default: .failure(.refused(text.isEmpty ? "error \(code)" : text))
    }
  }

  private func wait(
    for descriptor: Int32, _ events: Int32, until deadline: ContinuousClock.Instant, _ cancellation: Cancellation
  ) throws(Stop) {
    switch cancellation.wait(for: descriptor, events, until: deadline) {
    case .ready: return
    case .cancelled: throw .interaction(.cancelled)
    case .timedOut: throw .interaction(.timedOut)
    }
  }
}
