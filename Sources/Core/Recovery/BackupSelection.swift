import CBOR
import CryptoPrimitives

/// A smaller backup, with as many entries of a complete one as fit into a size (Recovery §9).
///
/// It has whole entries only. Each entry is taken, in this order, if it still fits: imported passkeys, because the phrase
/// does not derive their keys; then the other passkeys; then the removals. Of each kind, those that were made or changed
/// last come first. Large blobs are left out.
public struct BackupSelection: Sendable {
  /// The backup file.
  public let file: [UInt8]
  /// The numbers of passkeys and removals in the file.
  public let (passkeys, removals): (Int, Int)
  /// The passkeys that do not fit, in this order.
  public let leftOut: [PasskeyName]
  /// The number of removals that do not fit.
  public let leftOutRemovals: Int
  /// Whether the complete backup has large blobs.
  public let leavesOutLargeBlobs: Bool

  /// Whether nothing is left out.
  public var isComplete: Bool { leftOut.isEmpty && leftOutRemovals == 0 && !leavesOutLargeBlobs }

  /// Selects from an open backup, and seals the selection with the same keys.
  ///
  /// - Parameters:
  ///   - size: the most bytes of the file.
  ///   - nonce: 24 fresh random bytes.
  /// - Throws: what reading an entry throws; `full` if even a file without entries has more bytes.
  public init(of backup: BackupReader, atMost size: Int, nonce: [UInt8]) throws(RecoveryError) {
    var candidates: [Candidate] = []
    for index in 0..<backup.count {
      let account = try backup.account(at: index)
      candidates.append(Candidate(account, at: index))
    }
    candidates.sort { $0.comes(before: $1) }

    // The heads of the list and of the sealed content grow with their lengths, by at most two bytes each.
    let empty = try BackupWriter().file(epoch: backup.epoch, largeBlobArray: nil, keys: backup.keys, nonce: nonce)
    var room = size - empty.count - 4
    guard room >= 0 else { throw RecoveryError(.full, "a backup has more than \(size) bytes") }
    var taken: [Int] = []
    var (leftOut, leftOutRemovals) = ([PasskeyName](), 0)
    for candidate in candidates {
      if candidate.size <= room {
        room -= candidate.size
        taken.append(candidate.index)
      } else if let name = candidate.name {
        leftOut.append(name)
      } else {
        leftOutRemovals += 1
      }
    }

    let writer = BackupWriter()
    for index in taken.sorted() { try writer.append([try backup.account(at: index)]) }
    (passkeys, removals) = (writer.passkeys, writer.removals)
    file = try writer.file(epoch: backup.epoch, largeBlobArray: nil, keys: backup.keys, nonce: nonce)
    (self.leftOut, self.leftOutRemovals) = (leftOut, leftOutRemovals)
    leavesOutLargeBlobs = backup.largeBlobArray.map { $0 != SerializedLargeBlobs.initial } ?? false
  }

  /// An entry of the complete backup, without its secrets.
  private struct Candidate {
    let index: Int
    /// The number of bytes in the list of a backup.
    let size: Int
    /// `nil` for a removal.
    let name: PasskeyName?
    /// 0 for an imported passkey, 1 for another one, 2 for a removal.
    private let rank: Int
    /// Unix milliseconds.
    private let lastChange: UInt64

    init(_ account: StoredAccount, at index: Int) {
      var encoded = account.encoded
      defer { wipe(&encoded) }
      (self.index, size, name) = (index, encoded.count, account.entry.record.map(PasskeyName.init))
      switch account.entry {
      case .record(let source): (rank, lastChange) = (source.isDerivable ? 1 : 0, source.lastChange)
      case .tombstone(_, let changed): (rank, lastChange) = (2, changed)
      }
    }

    func comes(before other: Candidate) -> Bool {
      if rank != other.rank { return rank < other.rank }
      if lastChange != other.lastChange { return lastChange > other.lastChange }
      return index < other.index
    }
  }
}
