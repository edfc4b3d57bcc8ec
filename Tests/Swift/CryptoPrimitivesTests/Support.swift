import CryptoPrimitives
import Glibc
import TestVectors

/// Bytes from hexadecimal; invalid text gives an empty result, and so fails the test.
func hex(_ text: String) -> [UInt8] { Hex(text)?.bytes ?? [] }

extension SecretBytes {
  /// A test value, which is not secret.
  convenience init(_ bytes: [UInt8]) {
    self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
  }

  /// A test value, from hexadecimal.
  convenience init(hex text: String) { self.init(hex(text)) }

  /// The bytes, for comparison.
  var revealed: Hex { withUnsafeBytes { Hex($0) } }
}

extension SecretBytes {
  /// Flips one bit of the secret's own memory while `body` runs, as failing memory would.
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
