import Assuan
import CLinux
import CryptoPrimitives
import Glibc
import Messages
import ProcessIO
import SessionBus

/// Shows a dialog with a program that the user names, as ssh(1) does with `SSH_ASKPASS`.
///
/// The text is its only argument. The program prints the passphrase, and exits with 0; any other status refuses. For a
/// confirmation, `SSH_ASKPASS_PROMPT` is `confirm`: the program agrees if it exits with 0 and prints nothing or `yes`.
struct Askpass: DialogBackEnd {
  /// A path, or a name that is looked up in PATH.
  let program: String
  /// The user's language.
  let catalogue: Catalogue

  /// The longest passphrase, bytes.
  static let longest = 256
  /// The statuses by which a shell says that a program cannot be run, or was not found.
  private static let notRun: ClosedRange<Int32> = 126...127

  /// Does nothing: the program is started only for a dialog.
  func selfTest(_ dialog: Dialog) {}

  func confirm(_ dialog: Dialog) throws(PromptError) {
    setenv("SSH_ASKPASS_PROMPT", "confirm", 1)
    let printed = try run(text(dialog, isConfirmation: true), dialog.limit, refused: .notConfirmed)
    guard printed.withUnsafeBytes(Self.agrees) else { throw PromptError(.notConfirmed, "refused") }
  }

  /// Whether a line agrees to a confirmation: it is empty, or `yes` in upper or lower case.
  ///
  /// OpenSSH's `ask_permission` has the same rule, but reads only the first line.
  static func agrees(_ line: UnsafeRawBufferPointer) -> Bool {
    line.isEmpty || line.elementsEqual("yes".utf8) { $0 | 0x20 == $1 }
  }

  /// Such programs only ask.
  func tell(_ dialog: Dialog) throws(PromptError) {
    throw PromptError(.notImplemented, "\(program) cannot show a text without a question")
  }

  func passphrase(_ dialog: Dialog) throws(PromptError) -> SecretBytes {
    unsetenv("SSH_ASKPASS_PROMPT")
    return try run(text(dialog, isConfirmation: false), dialog.limit, refused: .cancelled)
  }

  /// The whole text.
  ///
  /// For a confirmation, it ends with what OK and Cancel mean, because the program has its own buttons; for a passphrase,
  /// with the label of the field, because the program has none.
  func text(_ dialog: Dialog, isConfirmation: Bool) -> String {
    let end =
      isConfirmation ? catalogue.text(Message("OK: \(dialog.agree). Cancel: \(dialog.refuse).")) : dialog.label
    return [dialog.remark ?? "", dialog.description, end].filter { !$0.isEmpty }.joined(separator: "\n\n")
  }

  /// Runs the program until it ends.
  ///
  /// - Returns: what it printed, without the line end.
  private func run(_ text: String, _ limit: Duration, refused: AssuanError) throws(PromptError) -> SecretBytes {
    let deadline = ContinuousClock.now + limit
    let child: (process: pid_t, output: Int32)
    do {
      child = try start(text)
    } catch {
      throw PromptError(.general, "\(program) cannot be started: \(error)")
    }
    defer { close(child.output) }
    var printed: SecretBytes?
    do {
      // The line end may have two bytes.
      _ = try SecretBytes(count: Self.longest + 2) { memory throws(PromptError) in
        let count = try read(child.output, into: memory, until: deadline)
        let line = Self.withoutLineEnd(UnsafeRawBufferPointer(rebasing: memory[..<count]))
        guard line.count <= Self.longest else { throw Self.tooLong(program) }
        printed = SecretBytes(copying: line)
      }
      try waitForEnd(of: child.process, until: deadline)
    } catch {
      // It is the leader of a group of its own.
      kill(-child.process, SIGKILL)
      Child.reap(child.process)
      throw error
    }
    let status = Child.reap(child.process)
    guard status & 0x7F == 0 else {
      throw PromptError(.general, "\(program) was ended by signal \(status & 0x7F)")
    }
    let code = status >> 8 & 0xFF
    guard !Self.notRun.contains(code) else { throw PromptError(.general, "\(program) ended with status \(code)") }
    guard code == 0 else { throw PromptError(refused, "refused") }
    return printed ?? SecretBytes(count: 0) { _ in }
  }

  private func start(_ text: String) throws(SystemNumber) -> (process: pid_t, output: Int32) {
    let ends = try Descriptor.pipe()
    defer { close(ends.write) }
    let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { if input >= 0 { close(input) } }
    do {
      let process = try Child.start(
        [program, text], input: input, output: ends.write, errorOutput: STDERR_FILENO)
      return (process, ends.read)
    } catch {
      close(ends.read)
      throw error
    }
  }

  /// Reads to the end.
  ///
  /// - Returns: how many bytes were read.
  private func read(
    _ output: Int32, into memory: UnsafeMutableRawBufferPointer, until deadline: ContinuousClock.Instant
  ) throws(PromptError) -> Int {
    var end = 0
    while true {
      try wait(for: output, until: deadline)
      var extra: UInt8 = 0
      let rest = UnsafeMutableRawBufferPointer(rebasing: memory[end...])
      let count = rest.isEmpty ? Glibc.read(output, &extra, 1) : Glibc.read(output, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return end }
      guard !rest.isEmpty else { throw Self.tooLong(program) }
      end += count
    }
  }

  private func waitForEnd(of process: pid_t, until deadline: ContinuousClock.Instant) throws(PromptError) {
    let descriptor = clinux_open_process(process)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    try wait(for: descriptor, until: deadline)
  }

  /// Waits until a descriptor is readable.
  ///
  /// - Throws: at the deadline, or at the end of standard input: the authenticator has withdrawn the dialog.
  private func wait(for descriptor: Int32, until deadline: ContinuousClock.Instant) throws(PromptError) {
    while true {
      var ready = [
        pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let rest = (deadline - .now).components
      guard rest.seconds >= 0, rest.attoseconds >= 0 else { throw PromptError(SessionBusFault.timedOut) }
      let count = poll(&ready, 2, Int32(clamping: rest.seconds * 1000 + rest.attoseconds / 1_000_000_000_000_000 + 1))
      guard count > 0 else { continue }
      if ready[0].revents != 0 { throw PromptError(SessionBusFault.cancelled) }
      return
    }
  }

  /// Removes one line end, LF or CR LF.
  static func withoutLineEnd(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard text.last == UInt8(ascii: "\n") else { return text }
    let line = text.dropLast()
    return UnsafeRawBufferPointer(rebasing: line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
  }

  private static func tooLong(_ program: String) -> PromptError {
    PromptError(.general, "\(program) printed more than \(longest) bytes")
  }
}
