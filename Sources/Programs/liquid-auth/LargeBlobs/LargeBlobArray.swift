import CBOR
import CTAP2
import CZlib
import CryptoPrimitives

/// The large-blob array as platforms keep it: entries, each sealed with the largeBlobKey of a credential, CTAP §6.10.3.
struct LargeBlobArray: Equatable {
  /// The entries in their order, including those that only another program can read.
  private(set) var entries: [CBORValue]

  /// Reads a serialized array.
  ///
  /// - Throws: a failure for an array that does not end with its digest, or is not a canonical CBOR array.
  init(serialized: [UInt8]) throws(CommandFailure) {
    let array = Array(serialized.dropLast(LargeBlobs.digestSize))
    guard !array.isEmpty, Self.digest(array) == serialized.suffix(LargeBlobs.digestSize) else {
      throw CommandFailure("this is not a large-blob array: it does not end with its digest")
    }
    guard let entries = (try? CBORDecoder.decode(array))?.array else {
      throw CommandFailure("this is not a large-blob array: its entries cannot be read")
    }
    self.entries = entries
  }

  /// The array and its digest.
  var serialized: [UInt8] {
    let array = CBOREncoder.encode(.array(entries))
    return array + Self.digest(array)
  }

  /// LEFT(SHA-256(array), 16).
  private static func digest(_ array: [UInt8]) -> ArraySlice<UInt8> {
    SHA256.hash(array).prefix(LargeBlobs.digestSize)
  }

  /// The content of the first entry that the key opens.
  func content(key: SecretBytes) -> [UInt8]? {
    entries.lazy.compactMap { LargeBlob($0)?.content(key: key) }.first
  }

  /// The size of the content of the first entry that the key opens, as the entry claims.
  func size(key: SecretBytes) -> Int? {
    entries.lazy.compactMap { LargeBlob($0) }.first { $0.opens(with: key) }?.originalSize
  }

  /// Removes the entries that none of the keys opens; returns how many.
  mutating func removeUnopened(by keys: [SecretBytes]) -> Int {
    let count = entries.count
    entries.removeAll { entry in
      let blob = LargeBlob(entry)
      return !keys.contains { blob?.opens(with: $0) == true }
    }
    return count - entries.count
  }

  /// Removes the entries that the key opens, even if they cannot be expanded; returns `false` if there is none.
  mutating func remove(key: SecretBytes) -> Bool {
    let count = entries.count
    entries.removeAll { LargeBlob($0)?.opens(with: key) == true }
    return entries.count < count
  }

  /// Replaces the entries that the key opens by one with this content.
  ///
  /// - Throws: a failure for content that no array can hold.
  mutating func set(_ content: [UInt8], key: SecretBytes) throws(CommandFailure) {
    let entry = try LargeBlob(sealing: content, key: key).cbor
    _ = remove(key: key)
    entries.append(entry)
  }
}

/// One entry: `{1: ciphertext ‖ tag, 2: nonce, 3: origSize}`, CTAP §6.10.3.
struct LargeBlob: Equatable {
  /// The compressed content, sealed.
  let ciphertext: [UInt8]
  /// 12 bytes.
  let nonce: [UInt8]
  /// The size of the content in bytes, as the entry claims.
  let originalSize: Int

  /// DEFLATE expands 1 byte to at most 1032.
  private static let largestExpansion = 1032

  /// Reads an entry; `nil` if it is not valid.
  init?(_ entry: CBORValue) {
    guard let map = entry.map, let ciphertext = map[1]?.bytes, let nonce = map[2]?.bytes,
      let size = map[3]?.unsigned, nonce.count == AESGCM.nonceSize, ciphertext.count >= AESGCM.tagSize,
      size <= ciphertext.count * Self.largestExpansion
    else { return nil }
    (self.ciphertext, self.nonce, originalSize) = (ciphertext, nonce, Int(size))
  }

  /// Compresses and seals content.
  ///
  /// - Throws: a failure for content that stays larger than any array.
  init(sealing content: [UInt8], key: SecretBytes) throws(CommandFailure) {
    guard let compressed = Deflate.compress(content, capacity: LargeBlobs.capacity) else {
      throw CommandFailure(
        "the content of \(content.count) bytes is too long: all large blobs together, compressed, can have "
          + "\(LargeBlobs.capacity) bytes")
    }
    (nonce, originalSize) = (randomBytes(AESGCM.nonceSize), content.count)
    do throws(CryptoError) {
      ciphertext = try AESGCM.seal(compressed, key: key, nonce: nonce, ad: Self.additionalData(content.count))
    } catch {
      throw CommandFailure(error.description)
    }
  }

  /// Whether the key opens the entry.
  func opens(with key: SecretBytes) -> Bool { compressed(key) != nil }

  /// The content; `nil` if the entry belongs to another credential, or was not compressed as the standard requires.
  func content(key: SecretBytes) -> [UInt8]? { compressed(key).flatMap { Deflate.expand($0, to: originalSize) } }

  private func compressed(_ key: SecretBytes) -> [UInt8]? {
    try? AESGCM.open(ciphertext, key: key, nonce: nonce, ad: Self.additionalData(originalSize))
  }

  /// The entry's map.
  var cbor: CBORValue {
    .map([1: .bytes(ciphertext), 2: .bytes(nonce), 3: .unsigned(UInt64(originalSize))])
  }

  /// "blob" ‖ origSize, 8 bytes little-endian.
  private static func additionalData(_ size: Int) -> [UInt8] {
    Array("blob".utf8) + withUnsafeBytes(of: UInt64(size).littleEndian) { Array($0) }
  }
}

/// DEFLATE without a header, RFC 1951: how the content of a large blob is compressed, CTAP §6.10.3.
enum Deflate {
  /// Compresses; returns `nil` if the result does not fit into `capacity` bytes.
  static func compress(_ bytes: [UInt8], capacity: Int) -> [UInt8]? {
    let compressed = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
      count = zlib_shim_deflate(bytes, bytes.count, buffer.baseAddress, capacity)
    }
    return compressed.isEmpty ? nil : compressed
  }

  /// Expands into exactly `count` bytes; returns `nil` if the input is not DEFLATE of that many bytes.
  static func expand(_ compressed: [UInt8], to count: Int) -> [UInt8]? {
    var isWhole = false
    // zlib needs an address even if it writes nothing.
    let expanded = [UInt8](unsafeUninitializedCapacity: max(1, count)) { buffer, initialized in
      buffer.initialize(repeating: 0)
      isWhole = zlib_shim_inflate(compressed, compressed.count, buffer.baseAddress, count) == 1
      initialized = count
    }
    return isWhole ? expanded : nil
  }
}
