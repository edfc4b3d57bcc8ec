import CryptoPrimitives
import DeterministicKeys
import Glibc
import TestVectors

/// Decodes hexadecimal; empty if the text is invalid.
func hex(_ text: String) -> [UInt8] { Hex(text)?.bytes ?? [] }

extension SecretBytes {
  /// A secret with known bytes.
  convenience init(_ bytes: [UInt8]) {
    self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
  }

  /// A secret from typed text.
  convenience init(typed text: String) { self.init(Array(text.utf8)) }

  /// The bytes, for comparison.
  var revealed: Hex { withUnsafeBytes { Hex($0) } }

  /// The bytes as text, for comparison.
  var revealedText: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

extension BIP39Phrase {
  /// Parses a known phrase.
  init(_ text: String) throws { try self.init(parsing: SecretBytes(typed: text)) }
}

extension SecretBytes {
  /// Flips one bit in the memory of the secret while `body` runs, as a memory fault would.
  func withFlippedBit(_ bit: Int, _ body: () throws -> Void) rethrows {
    flip(bit)
    defer { flip(bit) }
    try body()
  }

  private func flip(_ bit: Int) {
    withUnsafeBytes { bytes in
      let memory = UnsafeMutableRawBufferPointer(mutating: bytes)
      guard let page = memory.baseAddress.map({ $0.alignedDown(toMultipleOf: Int(getpagesize())) }) else { return }
      mprotect(page, Int(getpagesize()), PROT_READ | PROT_WRITE)
      memory[bit / 8] ^= 1 << UInt8(bit % 8)
      mprotect(page, Int(getpagesize()), PROT_READ)
    }
  }
}
