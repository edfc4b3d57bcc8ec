import CBOR
import CTAP2
import CZlib
import CryptoPrimitives

/// The large-blob array as platforms keep it: entries, each sealed with the largeBlobKey of a credential, CTAP §6.10.3.
struct LargeBlobArray: Equatable {
  /// The entries in their order, those included that only another program can read.
  private(set) var entries: [CBORValue]

  /// Reads a serialized array.
  ///
  /// - Throws: a failure for one that does not end with its digest, or is no canonical CBOR array.
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

  /// What a credential's key opens; the first such entry counts.
  func content(key: SecretBytes) -> [UInt8]? {
    entries.lazy.compactMap { LargeBlob($0)?.content(key: key) }.first
  }

  /// Removes what a credential's key opens, whether or not it can be expanded; `false` if there is nothing.
  mutating func remove(key: SecretBytes) -> Bool {
    let count = entries.count
    entries.removeAll { LargeBlob($0)?.opens(with: key) == true }
    return entries.count < count
  }

  /// Puts content in the place of what the key opens.
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
  /// How many bytes the content has, as whoever wrote the entry says.
  let originalSize: Int

  /// DEFLATE expands 1 byte to at most 1032.
  private static let largestExpansion = 1032

  /// Reads an entry; `nil` for what is none, or cannot be.
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
        "the content is too long, \(content.count) bytes: there is room for \(LargeBlobs.capacity) in all")
    }
    (nonce, originalSize) = (randomBytes(AESGCM.nonceSize), content.count)
    do throws(CryptoError) {
      ciphertext = try AESGCM.seal(compressed, key: key, nonce: nonce, ad: Self.additionalData(content.count))
    } catch {
      throw CommandFailure(error.description)
    }
  }

  /// Whether the entry is this credential's.
  func opens(with key: SecretBytes) -> Bool { compressed(key) != nil }

  /// The content; `nil` if the entry is another credential's, or was not compressed as the standard has it.
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
