package import CryptoPrimitives
import Glibc

/// Reads one line that may be a secret, byte by byte into locked memory.
package enum SecretLine {
  /// The longest line, bytes: a phrase of 24 words and much white space.
  package static let maximumSize = 1024

  /// What Control-C sends where it is no signal; in a pipe or a file, it is a byte as any other.
  package static let controlC: UInt8 = 0x03

  /// What came of the reading.
  package enum Outcome {
    /// A line, without its end.
    case line(SecretBytes)
    /// The input ended before a line began.
    case ended
    /// Control-C on a terminal, or Control-D on an empty line; or the cancellation.
    case cancelled
    /// More bytes than may be.
    case tooLong
    /// The system refused.
    case system(SystemNumber)
  }

  /// Reads up to a line feed, alone or behind a carriage return, or the end of the input; none of them is part of the
  /// line.
  ///
  /// - Parameters:
  ///   - isEdited: whether the keys of a terminal work on the line (backspace, Control-U, Control-W, Control-C,
  ///     Control-D), because the terminal itself passes them on.
  ///   - limit: how many bytes it may have.
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

  /// How the reading ended: behind a line of so many bytes, or as ``Outcome`` says.
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
