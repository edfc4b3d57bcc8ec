import CryptoPrimitives
import Glibc
import ProcessIO

/// Standard input that is not a terminal: one line for each secret, but for the last one.
enum StandardInput {
  /// Reads the rest of standard input, whose lines and byte order mark are no part of the secret.
  static func secretRest(_ what: String) throws(CommandFailure) -> SecretBytes {
    var lines: [SecretBytes] = []
    var size = 0
    while true {
      do throws(CommandFailure) {
        let line = try secretLine(what)
        // Empty lines count too, because an input can have any number of them.
        size += line.count + 1
        guard size <= SecretLine.maximumSize + 1 else {
          throw CommandFailure("\(what) is longer than \(SecretLine.maximumSize) bytes")
        }
        if line.count > 0 { lines.append(line) }
      } catch {
        guard error.code == .usage, !lines.isEmpty else { throw error }
        return joined(lines)
      }
    }
  }

  /// The lines with a space after each.
  private static func joined(_ lines: [SecretBytes]) -> SecretBytes {
    let text = SecretBytes(count: lines.reduce(0) { $0 + $1.count + 1 }) { memory in
      var rest = memory[...]
      for line in lines {
        line.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: rest).copyMemory(from: $0) }
        rest[rest.startIndex + line.count] = UInt8(ascii: " ")
        rest = rest.dropFirst(line.count + 1)
      }
    }
    return text.withUnsafeBytes { bytes in
      let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
      return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.starts(with: mark) ? bytes[3...] : bytes[...]))
    }
  }

  static func secretLine(_ what: String) throws(CommandFailure) -> SecretBytes {
    switch SecretLine.read(from: STDIN_FILENO, isEdited: false) {
    case .line(let line): return line
    case .tooLong: throw CommandFailure("\(what) is longer than \(SecretLine.maximumSize) bytes")
    case .ended, .cancelled: throw CommandFailure("standard input ended before \(what)", code: .usage)
    case .system(let number):
      throw CommandFailure("cannot read standard input: \(number)")
    }
  }
}
