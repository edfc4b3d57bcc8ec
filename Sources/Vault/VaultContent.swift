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
  /// When the vault was made, Unix milliseconds.
  public let created: UInt64

  /// The content of a new vault.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` when a part has the wrong length.
  public init(
    mainKey: SecretBytes, ed25519Root: SecretBytes, storeID: [UInt8], created: UInt64
  ) throws(VaultError) {
    guard mainKey.count == Layout.mainKey.count, ed25519Root.count == Layout.ed25519Root.count,
      storeID.count == Layout.storeID.count
    else { throw .damaged("the main key has 64 bytes, the Ed25519 root 96, the store's id 16") }
    self.mainKey = mainKey
    self.ed25519Root = ed25519Root
    self.storeID = storeID
    self.created = created
  }

  /// The same, tied to another store.
  public func tied(toStore storeID: [UInt8]) throws(VaultError) -> VaultContent {
    try VaultContent(mainKey: mainKey, ed25519Root: ed25519Root, storeID: storeID, created: created)
  }
}

// MARK: - The payload

// `{1: mainKey, 2: ed25519Root, 3: storeID, 4: created}` is canonical, so everything but `created`, at the end, has a
// fixed place. It is therefore written and read inside guarded memory, without `CBORValue`, which would leave copies of
// the keys in ordinary arrays.
extension VaultContent {
  private enum Layout {
    static let mainKey = 4..<68  // behind a4 01 5840
    static let ed25519Root = 71..<167  // behind 02 5860
    static let storeID = 169..<185  // behind 03 50
    static let created = 186  // behind 04

    static let heads: [(offset: Int, bytes: [UInt8])] = [
      (0, [0xa4, 0x01, 0x58, 0x40]), (68, [0x02, 0x58, 0x60]), (167, [0x03, 0x50]), (185, [0x04]),
    ]
  }

  /// The payload's bytes, ready to be sealed.
  var payload: SecretBytes {
    let created = CBOREncoder.encode(.unsigned(created))
    return SecretBytes(count: Layout.created + created.count) { buffer in
      for head in Layout.heads { buffer[from: head.offset].copyBytes(from: head.bytes) }
      mainKey.withUnsafeBytes { buffer[from: Layout.mainKey.lowerBound].copyMemory(from: $0) }
      ed25519Root.withUnsafeBytes { buffer[from: Layout.ed25519Root.lowerBound].copyMemory(from: $0) }
      buffer[from: Layout.storeID.lowerBound].copyBytes(from: storeID)
      buffer[from: Layout.created].copyBytes(from: created)
    }
  }

  /// Reads an opened payload.
  init(payload: SecretBytes) throws(VaultError) {
    self = try payload.withUnsafeBytes { bytes throws(VaultError) in
      guard bytes.count > Layout.created,
        Layout.heads.allSatisfy({ bytes[$0.offset..<$0.offset + $0.bytes.count].elementsEqual($0.bytes) }),
        let created = (try? CBORDecoder.decode(Array(bytes[Layout.created...])))?.unsigned
      else { throw .damaged("the sealed content has a wrong layout") }
      return try VaultContent(
        mainKey: SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[Layout.mainKey])),
        ed25519Root: SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[Layout.ed25519Root])),
        storeID: Array(bytes[Layout.storeID]), created: created)
    }
  }
}

extension UnsafeMutableRawBufferPointer {
  fileprivate subscript(from offset: Int) -> UnsafeMutableRawBufferPointer { .init(rebasing: self[offset...]) }
}
