// Swift's buffers as C takes them: by the address of the first byte. libsodium wants one for no bytes too.

/// Where the zero bytes of an empty buffer are.
private nonisolated(unsafe) let nowhere = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)

extension UnsafeRawBufferPointer {
  /// The address of the first byte.
  var bytes: UnsafePointer<UInt8> { baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(nowhere) }

  /// The address of the first byte, as `char *`.
  var characters: UnsafePointer<CChar> { UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self) }
}

extension UnsafeMutableRawBufferPointer {
  /// The address of the first byte.
  var bytes: UnsafeMutablePointer<UInt8> { baseAddress?.assumingMemoryBound(to: UInt8.self) ?? nowhere }
}

/// A new array of `count` bytes, which are zero or what `fill` wrote there.
func newBytes(_ count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    buffer.initialize(repeating: 0)
    fill(UnsafeMutableRawBufferPointer(buffer).bytes)
    initialized = count
  }
}
