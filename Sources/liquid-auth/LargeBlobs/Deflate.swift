import CZlib

/// DEFLATE without a header, RFC 1951: how the content of a large blob is compressed, CTAP §6.10.3.
enum Deflate {
  /// Compresses.
  ///
  /// - Returns: `nil` for what does not fit into `capacity` bytes.
  static func compress(_ bytes: [UInt8], capacity: Int) -> [UInt8]? {
    let compressed = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
      count = zlib_door_deflate(bytes, bytes.count, buffer.baseAddress, capacity)
    }
    return compressed.isEmpty ? nil : compressed
  }

  /// Expands into exactly `count` bytes.
  ///
  /// - Returns: `nil` for what is no DEFLATE of so many bytes.
  static func expand(_ compressed: [UInt8], to count: Int) -> [UInt8]? {
    var isWhole = false
    // zlib wants an address even where nothing is to be written.
    let expanded = [UInt8](unsafeUninitializedCapacity: max(1, count)) { buffer, initialized in
      buffer.initialize(repeating: 0)
      isWhole = zlib_door_inflate(compressed, compressed.count, buffer.baseAddress, count) == 1
      initialized = count
    }
    return isWhole ? expanded : nil
  }
}
