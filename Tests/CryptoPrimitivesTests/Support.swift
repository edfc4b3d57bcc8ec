import CryptoPrimitives
import Glibc
import TestVectors

/// Bytes written as hexadecimal in a test; a typing error stops the test by way of an empty result.
func hex(_ text: String) -> [UInt8] { Hex(text)?.bytes ?? [] }

extension SecretBytes {
  /// A secret of a test, which is none.
  convenience init(_ bytes: [UInt8]) {
    self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
  }

  /// A secret of a test, written as hexadecimal.
  convenience init(hex text: String) { self.init(hex(text)) }

  /// The bytes, for comparison.
  var revealed: Hex { withUnsafeBytes { Hex($0) } }
}

extension SecretBytes {
  /// Changes one bit of the secret's own memory while `body` runs, as memory that fails would.
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
