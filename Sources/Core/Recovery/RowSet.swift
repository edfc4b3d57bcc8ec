public import CryptoPrimitives
import DeterministicKeys

/// A keyed multiset hash (MSet-Add-Hash of Clarke, Devadas, van Dijk, Gassend and Suh, 2003): the sum of the members'
/// MACs modulo 2^256.
///
/// Adding or removing a member updates the sum without reading the others. Without the key, another set with the same
/// sum cannot be found.
public struct MultisetHash: Sendable, Equatable {
  /// The sum, 32 bytes, big-endian; zero for the empty set.
  public private(set) var bytes = [UInt8](repeating: 0, count: size)

  static let size = 32

  /// The hash of the empty set.
  public init() {}

  fileprivate init(bytes: ArraySlice<UInt8>) { self.bytes = Array(bytes) }

  /// Adds a member by its MAC, 32 bytes.
  public mutating func add(_ mac: [UInt8]) { fold(mac) { UInt16($0) + UInt16($1) + $2 } }

  /// Removes a member by its MAC, 32 bytes.
  public mutating func remove(_ mac: [UInt8]) {
    // a − b = a + (2^256 − 1 − b) + 1
    fold(mac, carry: 1) { UInt16($0) + UInt16(~$1) + $2 }
  }

  private mutating func fold(_ mac: [UInt8], carry: UInt16 = 0, _ sum: (UInt8, UInt8, UInt16) -> UInt16) {
    precondition(mac.count == Self.size)
    var carry = carry
    for index in bytes.indices.reversed() {
      let digit = sum(bytes[index], mac[index], carry)
      bytes[index] = UInt8(truncatingIfNeeded: digit)
      carry = digit >> 8
    }
  }
}

/// The hash of a store's rows, which shows if a single old row was put back, and the end of its history.
public struct RowSet: Sendable, Equatable {
  /// The rows of `credential`, records and tombstones: the input of encCredStoreState.
  public var credentials = MultisetHash()
  /// The row of `state`, and that of `blobs`, if there is one.
  public var others = MultisetHash()
  /// The end of the history at the last change; `nil` before version 10 of the store.
  public var history: HistoryMark?

  /// The hash of no rows.
  public init() {}

  /// Whether both have the same rows, whatever the history.
  public func hasSameRows(as other: RowSet) -> Bool { credentials == other.credentials && others == other.others }
}

// MARK: - MACs of rows, and the row of the set itself

extension CredentialKeys {
  /// mac("row-set", 01 ‖ accountTag ‖ tags ‖ sequence ‖ nonce ‖ sealed): a row of `credential`, 32 bytes.
  ///
  /// tags is 00 for a tombstone, 01 ‖ rpTag ‖ credentialTag ‖ keyTag for a record; sequence has 8 bytes, big-endian.
  public func rowMAC(of row: CredentialRow, sequence: Int64) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(Self.rowSizeBeforeSealed + row.sealed.count)
    message.append(1)
    message += row.accountTag
    if let tags = row.tags {
      message.append(1)
      message += tags.rpTag
      message += tags.credentialTag
      message += tags.keyTag
    } else {
      message.append(0)
    }
    message += UInt64(bitPattern: sequence).bigEndianBytes
    message += row.nonce
    message += row.sealed
    return mac(.rowSet, message)
  }

  /// Bytes of the MAC's message before the last column.
  private static let rowSizeBeforeSealed = 2 + 4 * tagSize + 8 + XChaCha20Poly1305.nonceSize

  /// mac("row-set", 02 ‖ nonce ‖ sealed): the row of `state`, 32 bytes.
  public func stateRowMAC(nonce: [UInt8], sealed: [UInt8]) -> [UInt8] { mac(.rowSet, [2] + nonce + sealed) }

  /// mac("row-set", 03 ‖ nonce ‖ sealed): the row of `blobs`, 32 bytes.
  public func blobsRowMAC(nonce: [UInt8], sealed: [UInt8]) -> [UInt8] { mac(.rowSet, [3] + nonce + sealed) }

  private static let rowSetAD = Array("row-set".utf8)

  /// Seals both sums and the end of the history, `credentials` ‖ `others` ‖ `history`: 112 bytes, or 64 without a history.
  ///
  /// - Parameter nonce: 24 fresh random bytes.
  public func seal(_ rows: RowSet, nonce: [UInt8]) throws(CryptoError) -> [UInt8] {
    try XChaCha20Poly1305.seal(
      RowPadding.pad(rows.credentials.bytes + rows.others.bytes + (rows.history?.bytes ?? [])), key: self[.record],
      nonce: nonce, ad: Self.rowSetAD)
  }

  /// Opens both sums, and the end of the history.
  public func openRowSet(_ sealed: [UInt8], nonce: [UInt8]) throws(RecoveryError) -> RowSet {
    let plaintext = try openPadded(sealed, nonce: nonce, ad: Self.rowSetAD)
    let (sums, history) = (plaintext.prefix(2 * MultisetHash.size), plaintext.dropFirst(2 * MultisetHash.size))
    guard sums.count == 2 * MultisetHash.size, history.isEmpty || history.count == HistoryMark.size else {
      throw .malformed("two sums of 32 bytes, and the end of the history")
    }
    var rows = RowSet()
    rows.credentials = MultisetHash(bytes: sums.prefix(MultisetHash.size))
    rows.others = MultisetHash(bytes: sums.suffix(MultisetHash.size))
    if !history.isEmpty { rows.history = HistoryMark(bytes: Array(history)) }
    guard rows.history.map({ $0.last < Int64.max }) ?? true else { throw .malformed("the number of an entry") }
    return rows
  }
}
