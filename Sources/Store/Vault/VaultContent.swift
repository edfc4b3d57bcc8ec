import CBOR
public import CryptoPrimitives

/// The content of a vault (Recovery §1): the two roots of all keys, and the id of its store.
public struct VaultContent: Sendable {
  /// The root of the passkeys and of all keys of Recovery §2, 64 bytes.
  public let mainKey: SecretBytes
  /// The root of the Algorand keys, 96 bytes.
  public let ed25519Root: SecretBytes
  /// The store that belongs to this vault, 16 bytes.
  public let storeID: [UInt8]
  /// When the vault was made, or began with this phrase, Unix milliseconds.
  public let created: UInt64
  /// At most one element, which has none itself; an array, because a value cannot contain itself.
  private let replaced: [VaultContent]

  /// The same of the previous phrase, during the move to a new one (Recovery §14); `nil` otherwise.
  public var previous: VaultContent? { replaced.first }

  /// The content of a new vault.
  ///
  /// - Parameter previous: that of the previous phrase, without a previous one itself.
  /// - Throws: ``VaultError/damaged(_:)`` when a part has the wrong length, or both phrases are the same.
  public init(
    mainKey: SecretBytes, ed25519Root: SecretBytes, storeID: [UInt8], created: UInt64, previous: VaultContent? = nil
  ) throws(VaultError) {
    guard mainKey.count == Layout.mainKey.count, ed25519Root.count == Layout.ed25519Root.count,
      storeID.count == Layout.storeID.count
    else { throw .damaged("the main key has 64 bytes, the Ed25519 root 96, the store's id 16") }
    if let previous {
      guard previous.previous == nil else { throw .damaged("it has more than two phrases") }
      guard !previous.mainKey.isEqual(to: mainKey), previous.storeID != storeID else {
        throw .damaged("both phrases, or both stores, are the same")
      }
    }
    self.mainKey = mainKey
    self.ed25519Root = ed25519Root
    self.storeID = storeID
    self.created = created
    replaced = previous.map { [$0] } ?? []
  }

  /// The same, bound to another store.
  public func bound(toStore storeID: [UInt8]) throws(VaultError) -> VaultContent {
    try VaultContent(
      mainKey: mainKey, ed25519Root: ed25519Root, storeID: storeID, created: created, previous: previous)
  }

  /// The same, without the previous phrase.
  public func withoutPrevious() throws(VaultError) -> VaultContent {
    try VaultContent(mainKey: mainKey, ed25519Root: ed25519Root, storeID: storeID, created: created)
  }

  /// The same, with the previous phrase bound to another store.
  public func withPrevious(boundToStore storeID: [UInt8]) throws(VaultError) -> VaultContent {
    try VaultContent(
      mainKey: mainKey, ed25519Root: ed25519Root, storeID: self.storeID, created: created,
      previous: previous?.bound(toStore: storeID))
  }
}

// MARK: - The payload

// `{1: mainKey, 2: ed25519Root, 3: storeID, 4: created, 5: previous?}` is canonical, so everything before `created` has a
// fixed place. It is therefore written and read inside guarded memory, without `CBORValue`, which would leave copies of
// the keys in ordinary arrays. `previous` is such a map of four members.
extension VaultContent {
  private enum Layout {
    static let mainKey = 4..<68  // behind a4 (or a5) 01 5840
    static let ed25519Root = 71..<167  // behind 02 5860
    static let storeID = 169..<185  // behind 03 50
    static let created = 186  // behind 04

    /// - Parameter members: 4, or 5 with a previous phrase.
    static func heads(_ members: UInt8) -> [(offset: Int, bytes: [UInt8])] {
      [
        (0, [0xa0 + members, 0x01, 0x58, 0x40]), (68, [0x02, 0x58, 0x60]), (167, [0x03, 0x50]), (185, [0x04]),
      ]
    }

    /// The key of the member `previous`.
    static let previousKey: UInt8 = 0x05
  }

  /// The payload's bytes, ready to be sealed.
  var payload: SecretBytes {
    let created = CBOREncoder.encode(.unsigned(created))
    let previous = previous?.payload
    let end = Layout.created + created.count
    return SecretBytes(count: end + (previous.map { 1 + $0.count } ?? 0)) { buffer in
      for head in Layout.heads(previous == nil ? 4 : 5) { buffer[from: head.offset].copyBytes(from: head.bytes) }
      mainKey.withUnsafeBytes { buffer[from: Layout.mainKey.lowerBound].copyMemory(from: $0) }
      ed25519Root.withUnsafeBytes { buffer[from: Layout.ed25519Root.lowerBound].copyMemory(from: $0) }
      buffer[from: Layout.storeID.lowerBound].copyBytes(from: storeID)
      buffer[from: Layout.created].copyBytes(from: created)
      guard let previous else { return }
      buffer[end] = Layout.previousKey
      previous.withUnsafeBytes { buffer[from: end + 1].copyMemory(from: $0) }
    }
  }

  /// Reads an opened payload.
  ///
  /// - Parameter hasPrevious: whether it must have a previous phrase; otherwise it must have none.
  init(payload: SecretBytes, hasPrevious: Bool) throws(VaultError) {
    self = try payload.withUnsafeBytes { bytes throws(VaultError) in
      try VaultContent(payload: bytes, hasPrevious: hasPrevious)
    }
  }

  private init(payload bytes: UnsafeRawBufferPointer, hasPrevious: Bool) throws(VaultError) {
    guard bytes.count > Layout.created,
      Layout.heads(hasPrevious ? 5 : 4).allSatisfy({
        bytes[$0.offset..<$0.offset + $0.bytes.count].elementsEqual($0.bytes)
      })
    else { throw Self.wrongLayout }
    let end = hasPrevious ? Layout.created + Self.size(ofNumber: bytes[Layout.created]) : bytes.count
    guard end <= bytes.count, let created = (try? CBORDecoder.decode(Array(bytes[Layout.created..<end])))?.unsigned
    else { throw Self.wrongLayout }
    var previous: VaultContent?
    if hasPrevious {
      guard end < bytes.count, bytes[end] == Layout.previousKey else { throw Self.wrongLayout }
      previous = try VaultContent(
        payload: UnsafeRawBufferPointer(rebasing: bytes[(end + 1)...]), hasPrevious: false)
    }
    try self.init(
      mainKey: SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[Layout.mainKey])),
      ed25519Root: SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[Layout.ed25519Root])),
      storeID: Array(bytes[Layout.storeID]), created: created, previous: previous)
  }

  private static let wrongLayout = VaultError.damaged("the sealed content has a wrong layout")

  /// The bytes of an unsigned number of CBOR that begins with this byte: RFC 8949 §3.
  private static func size(ofNumber first: UInt8) -> Int {
    switch first {
    case 24: 2
    case 25: 3
    case 26: 5
    case 27: 9
    default: 1
    }
  }
}

extension UnsafeMutableRawBufferPointer {
  fileprivate subscript(from offset: Int) -> UnsafeMutableRawBufferPointer { .init(rebasing: self[offset...]) }
}
