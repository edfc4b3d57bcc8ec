package import CryptoPrimitives
import Glibc

/// Reads one line that may be a secret, byte by byte into locked memory.
package enum SecretLine {
  /// The longest line, bytes: a phrase of 24 words and much white space.
  package static let maximumSize = 1024

  /// The byte that Control-C sends on a terminal; in a pipe or a file it has no special meaning.
  package static let controlC: UInt8 = 0x03

  /// The result of a read.
  package enum Outcome {
    /// A line without its line ending.
    case line(SecretBytes)
    /// The input ended before a line began.
    case ended
    /// Control-C on a terminal, Control-D on an empty line, or a cancellation.
    case cancelled
    /// The line is longer than the limit.
    case tooLong
    /// A system call failed.
    case system(SystemNumber)
  }

  /// Reads up to LF, CR LF or the end of the input; the line ending is not part of the line.
  ///
  /// - Parameters:
  ///   - isEdited: whether to handle editing keys (backspace, Control-U, Control-W, Control-C, Control-D), which a
  ///     terminal in raw mode passes on.
  ///   - limit: the longest line, bytes.
  ///   - cancellation: ends the wait.
  package static func read(
    from descriptor: Int32, isEdited: Bool, atMost limit: Int = maximumSize, until cancellation: Cancellation? = nil
  ) -> Outcome {
    var end = End.ended
    let memory = SecretBytes(count: limit) {
      end = fill($0, from: descriptor, isEdited: isEdited, until: cancellation)
    }
    return switch end {
    case .line(let length):
      .line(memory.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(length))) })
    case .ended: .ended
    case .cancelled: .cancelled
    case .tooLong: .tooLong
    case .system(let number): .system(number)
    }
  }

  /// How the read ended: with a line of `length` bytes, or as in ``Outcome``.
  private enum End {
    case line(length: Int), ended, cancelled, tooLong, system(SystemNumber)
  }

  private static func fill(
    _ memory: UnsafeMutableRawBufferPointer, from descriptor: Int32, isEdited: Bool, until cancellation: Cancellation?
  ) -> End {
    var length = 0
    while true {
      if cancellation?.wait(for: descriptor, POLLIN, until: nil) == .cancelled { return .cancelled }
      var byte: UInt8 = 0
      let count = Glibc.read(descriptor, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return .system(SystemNumber()) }
      guard count > 0 else { return length > 0 ? .line(length: length) : .ended }
      switch (byte, isEdited) {
      case (0x0A, true), (0x0D, true): return .line(length: length)
      case (0x0A, false): return .line(length: length > 0 && memory[length - 1] == 0x0D ? length - 1 : length)
      case (controlC, _) where isEdited || isatty(descriptor) == 1: return .cancelled
      case (0x04, true): if length == 0 { return .cancelled }
      case (0x7F, true), (0x08, true): length = lengthWithoutLastCharacter(memory, length)
      case (0x15, true), (0x17, true): length = 0
      default:
        guard length < memory.count else { return .tooLong }
        memory[length] = byte
        length += 1
      }
    }
  }

  /// A character of UTF-8 is its first byte and the continuation bytes (10xxxxxx) behind it.
  private static func lengthWithoutLastCharacter(_ memory: UnsafeMutableRawBufferPointer, _ length: Int) -> Int {
    var length = length
    while length > 0 {
      length -= 1
      if memory[length] & 0xC0 != 0x80 { break }
    }
    return length
  }
}
