import CBOR
import CryptoPrimitives

/// The serialized large-blob array (CTAP §6.10): an array of entries, and LEFT(SHA-256(the bytes before), 16).
public enum SerializedLargeBlobs {
  /// The most bytes that a store keeps.
  public static let capacity = 8192
  /// The number of digest bytes at the end: CTAP §6.10.3.
  public static let digestSize = 16
  /// The array of a device that was never written to: 80 ‖ LEFT(SHA-256(80), 16).
  public static let initial: [UInt8] = [0x80] + SHA256.hash([0x80]).prefix(digestSize)

  /// Whether an array has at most ``capacity`` bytes and ends with its digest.
  public static func isValid(_ array: [UInt8]) -> Bool {
    array.count <= capacity && array.count >= initial.count
      && SHA256.hash(array.dropLast(digestSize)).prefix(digestSize) == array.suffix(digestSize)
  }

  /// The encodings of the entries; `nil` for content that is no CBOR array.
  static func entries(of array: [UInt8]) -> Set<CBORValue>? {
    guard let content = try? CBORDecoder.decode(Array(array.dropLast(digestSize))).array else { return nil }
    return Set(content)
  }
}

/// What a merge does with the large-blob array of another machine: it never replaces one that has entries (Recovery §9).
public enum LargeBlobsMerge: Sendable, Equatable {
  /// The other machine has none.
  case none
  /// There is none here; the other one is taken.
  case taken
  /// All entries of the other one are here.
  case same
  /// Ours stays; so many entries are only in the other one. 0 if one of the arrays is not CBOR.
  case keptBack(entries: Int)
  /// The other one is too long, or does not end with its digest; it is not taken.
  case invalid

  /// Compares the array of another machine with that of the store.
  ///
  /// - Parameter keepsDeletion: whether a store whose entries were deleted stays without entries, even if the other array
  ///   has some.
  public init(of theirs: [UInt8]?, into ours: [UInt8]?, keepsDeletion: Bool = false) {
    let wasWritten = ours != nil
    let ours = ours ?? SerializedLargeBlobs.initial
    guard let theirs, theirs != SerializedLargeBlobs.initial else {
      self = .none
      return
    }
    guard theirs != ours else {
      self = .same
      return
    }
    guard SerializedLargeBlobs.isValid(theirs) else {
      self = .invalid
      return
    }
    guard ours != SerializedLargeBlobs.initial || keepsDeletion && wasWritten else {
      self = .taken
      return
    }
    guard let theirEntries = SerializedLargeBlobs.entries(of: theirs),
      let ourEntries = SerializedLargeBlobs.entries(of: ours)
    else {
      self = .keptBack(entries: 0)
      return
    }
    let missing = theirEntries.subtracting(ourEntries).count
    self = missing == 0 ? .same : .keptBack(entries: missing)
  }
}
