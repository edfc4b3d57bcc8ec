import Assuan
import CryptoPrimitives
import Glibc
import ProcessIO

/// Shows a dialog: a notification, or a program like ssh-askpass.
///
/// Each call that asks blocks until there is an answer, the time limit is over, or standard input ends.
protocol DialogBackEnd {
  /// Whether a question can be shown now.
  func selfTest(_ dialog: Dialog) throws(PromptError)
  /// Asks the person to agree.
  func confirm(_ dialog: Dialog) throws(PromptError)
  /// Asks for a passphrase, at most ``AssuanLine/dataLimit`` bytes.
  func passphrase(_ dialog: Dialog) throws(PromptError) -> SecretBytes
  /// Shows the text, and does not wait for the person.
  func tell(_ dialog: Dialog) throws(PromptError)
}

/// Serves one client on standard input and output, as pinentry does.
struct PromptServer {
  let backEnd: any DialogBackEnd
  private var dialog = Dialog()

  init(_ backEnd: any DialogBackEnd) { self.backEnd = backEnd }

  /// Serves until the client closes standard input, or sends BYE.
  mutating func serve() {
    var memory = [UInt8](repeating: 0, count: 2 * AssuanLine.limit)
    memory.withUnsafeMutableBytes { memory in
      var lines = AssuanLineBuffer(memory: memory)
      Descriptor.write(Array("OK Pleased to meet you\n".utf8), to: STDOUT_FILENO)
      while true {
        do throws(AssuanLine.Fault) {
          guard let line = try lines.nextLine() else {
            let count = read(STDIN_FILENO, lines.free.baseAddress, lines.free.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            lines.received(count)
            continue
          }
          let command = try AssuanCommand(line: line)
          guard answer(command) else { return }
        } catch {
          // The authenticator sends no such line.
          Descriptor.write(AssuanLine.error(.malformed, "the line is malformed"), to: STDOUT_FILENO)
          guard error == .malformed else { return }
        }
      }
    }
  }

  /// - Returns: whether the client may send more.
  private mutating func answer(_ command: AssuanCommand) -> Bool {
    do throws(PromptError) {
      let request = try dialog.handle(command)
      switch request {
      case .nothing, .end: break
      case .selfTest: try backEnd.selfTest(dialog)
      case .confirmation:
        defer { dialog.remark = nil }
        try backEnd.confirm(dialog)
      case .message: try backEnd.tell(dialog)
      case .passphrase:
        defer { dialog.remark = nil }
        write(try backEnd.passphrase(dialog))
      }
      Descriptor.write(AssuanLine.ok, to: STDOUT_FILENO)
      return request != .end
    } catch {
      if error == .closed { Descriptor.write(AssuanLine.closed, to: STDOUT_FILENO) }
      Descriptor.write(AssuanLine.error(error.error, error.words), to: STDOUT_FILENO)
      return true
    }
  }

  private func write(_ passphrase: SecretBytes) {
    guard passphrase.count > 0 else { return }
    _ = SecretBytes(count: AssuanLine.limit) { line in
      let count = passphrase.withUnsafeBytes { AssuanLine.data($0, into: line) }
      Descriptor.write(UnsafeRawBufferPointer(rebasing: line[..<count]), to: STDOUT_FILENO)
    }
  }
}
