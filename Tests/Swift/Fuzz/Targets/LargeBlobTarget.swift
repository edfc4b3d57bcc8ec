import CBOR
import CTAP2
import CryptoPrimitives

/// The large blobs of a key, which each site and program with a token can write, as `liquid-auth blobs` reads them.
///
/// The directory `Command` has a symbolic link to the file of that program.
enum LargeBlobTarget {
  static let all: [Target] = [
    Target(
      "large-blobs", of: "an array of large blobs, or the size and the compressed content of one", atMost: 1024,
      seeds: {
        let text = Array("a text, a text, a text".utf8)
        let compressed = Deflate.compress(text, capacity: 100) ?? []
        let sealed = try array(of: compressed, size: text.count)
        return [[0, 0x80], [0] + sealed, [1, 0, UInt8(text.count)] + compressed]
      }, read: read)
  ]

  private static let key = secret([UInt8](repeating: 6, count: 32))
  private static let nonce = [UInt8](repeating: 7, count: AESGCM.nonceSize)

  /// After an even byte, an array that gets its digest; after an odd one, a content that gets its seal.
  private static func read(_ input: [UInt8]) throws {
    var choices = Choices(input)
    guard choices.bool() else {
      let array = choices.remainder()
      guard let blobs = try? LargeBlobArray(serialized: withDigest(array)) else { return }
      expect(blobs.serialized == withDigest(array), "another array")
      if let content = blobs.content(key: key) { try write(content, to: blobs) }
      return
    }
    let size = Int(choices.byte()) << 8 | Int(choices.byte())
    let blobs = try LargeBlobArray(serialized: withDigest(array(of: choices.remainder(), size: size)))
    guard let content = blobs.content(key: key) else { return }
    expect(content.count == size && blobs.size(key: key) == size, "\(content.count) bytes of \(size)")
    try write(content, to: blobs)
  }

  private static func write(_ content: [UInt8], to blobs: LargeBlobArray) throws {
    var blobs = blobs
    try blobs.set(content, key: key)
    expect(blobs.content(key: key) == content, "another content")
    expect(blobs.remove(key: key) && blobs.content(key: key) == nil, "a blob that cannot be removed")
  }

  private static func withDigest(_ array: [UInt8]) -> [UInt8] {
    array + SHA256.hash(array).prefix(LargeBlobs.digestSize)
  }

  /// One entry of CTAP §6.10.3.
  private static func array(of compressed: [UInt8], size: Int) throws -> [UInt8] {
    let ad = Array("blob".utf8) + withUnsafeBytes(of: UInt64(size).littleEndian) { Array($0) }
    let ciphertext = try AESGCM.seal(compressed, key: key, nonce: nonce, ad: ad)
    let entry: CBORValue = .map([1: .bytes(ciphertext), 2: .bytes(nonce), 3: .unsigned(UInt64(size))])
    return CBOREncoder.encode(.array([entry]))
  }
}

/// In the place of the command's own error, which has codes and remedies.
struct CommandFailure: Error {
  let description: String

  init(_ description: String) { self.description = description }
}
