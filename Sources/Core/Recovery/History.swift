import CBOR
public import CryptoPrimitives
import DeterministicKeys

/// One entry of the store's history, a ceremony or a change of what is stored; it has no secret: Recovery §6.
public struct HistoryEntry: Sendable, Equatable {
  /// What was requested.
  public enum Kind: UInt8, Sendable, CaseIterable {
    case register = 1
    case signIn = 2
    case u2fRegister = 3
    case u2fSignIn = 4
    /// Verification for a platform, which gets a pinUvAuthToken.
    case verify = 5
    case signTransactions = 6
    case signMessage = 7
    /// A signature with an association key of Keyri.
    case signAssociation = 8
    /// A protected passkey's id, shown to a wallet.
    case showPasskey = 9
    /// The PIN was set, changed or removed.
    case changePIN = 10
    case reset = 11
    /// A signature of another account in the same sign-in: authenticatorGetNextAssertion.
    case nextSignIn = 12
    case removePasskey = 13
    case renamePasskey = 14
    /// A passkey was derived again and stored.
    case recoverPasskey = 15
    case changeSettings = 16
    /// The large-blob array was replaced.
    case replaceLargeBlobs = 17
    /// The policy of a site, or of all sites without one of their own.
    case changePolicy = 18
    case changePassphrase = 19
    /// A slot other than the passphrase was added to the vault.
    case addSlot = 20
    case removeSlot = 21
    /// An old copy of the store was found.
    case findOldStore = 22
    /// The owner accepted an old copy of the store, or a modified store.
    case acceptOldStore = 23
    /// The owner made a backup.
    case makeBackup = 24
    /// A backup was merged into the store.
    case mergeBackup = 25
    /// The owner imported passkeys with their private keys.
    case importPasskeys = 26
    /// The vault got a new phrase beside the previous one (Recovery §14).
    case beginRotation = 27
    /// The owner gave up the keys of the previous phrase at a site; without a site, those of U2F.
    case giveUpSite = 28
    /// The previous phrase was removed from the vault.
    case endRotation = 29
    /// The owner exported passkeys with their private keys.
    case exportPasskeys = 30
    /// The store got a counter in the TPM, or another one.
    case turnOnCounter = 31
    case turnOffCounter = 32
    /// The store follows a folder of backups.
    case followFolder = 33
    case leaveFolder = 34
    /// The owner accepted the passkeys from before a reset again.
    case acceptBeforeReset = 35
    /// The owner revoked the permission to list the passkeys.
    case forgetReaders = 36
    /// The pairing with a dApp was kept, so that it can be used again without a sign-in.
    case rememberDApp = 37
    /// A wallet got the pairing with a dApp.
    case useDApp = 38
  }

  /// How it ended.
  public enum Outcome: UInt8, Sendable, CaseIterable {
    case done = 1
    case denied = 2
    case timedOut = 3
    /// The client withdrew the request.
    case cancelled = 4
    case verificationFailed = 5
    /// The site excludes a passkey that is here.
    case alreadyRegistered = 6
    /// The owner's policy for the site refused it; nobody was asked.
    case deniedByPolicy = 7
  }

  /// What verified the user.
  public enum Verification: UInt8, Sendable, CaseIterable {
    case none = 0
    case passphrase = 1
    case pin = 2
    /// A pinUvAuthToken; the entry of kind `verify` before it has its means.
    case token = 3
    case fingerprint = 4
    /// The user's account on this machine.
    case pam = 5
  }

  /// Where the request came in, if it was not this machine.
  public enum Door: UInt8, Sendable, CaseIterable {
    /// Another computer, by a QR code: hybrid transports.
    case hybrid = 1
  }

  /// Unix milliseconds.
  public let time: UInt64
  /// The rp.id, the origin of a dApp or the service of Keyri; `nil` if the request names none, as in U2F.
  public let site: String?
  public let kind: Kind
  public let outcome: Outcome
  public let verification: Verification
  /// `nil` for this machine.
  public let door: Door?

  /// A site as the history keeps it: a longer one than ``maximumSiteSize`` as "…" and as many characters of its end as fit.
  ///
  /// The end of a domain name says whose it is: `bank.example.….evil.example` belongs to `evil.example`.
  static func site(_ whole: String) -> String {
    guard whole.utf8.count > maximumSiteSize else { return whole }
    return cut + whole.suffix(ofUTF8Count: maximumSiteSize - cut.utf8.count)
  }

  /// Marks a site that is cut; no domain name begins with it.
  private static let cut = "\u{2026}"

  /// The longest site that is kept, bytes of UTF-8.
  public static let maximumSiteSize = 224

  /// Keeps the end of a site that is longer than ``maximumSiteSize``, behind "…".
  public init(
    time: UInt64, site: String?, kind: Kind, outcome: Outcome, verification: Verification, door: Door? = nil
  ) {
    self.time = time
    self.site = site.map(Self.site)
    self.kind = kind
    self.outcome = outcome
    self.verification = verification
    self.door = door
  }
}

/// What the store knows of the whole history: where it begins and ends.
public struct HistoryHead: Sendable, Equatable {
  /// The number of the oldest entry that is kept; numbers begin with 1.
  public var first: UInt64
  /// The hash before that entry, 32 bytes.
  public var before: [UInt8]
  /// The number of the newest entry; `first - 1` if there is none.
  public var last: UInt64
  /// The hash of the newest entry, 32 bytes.
  public var hash: [UInt8]
  /// That of the mark (``HistoryMark``) that was written last; 0 before version 10 of the store.
  public var generation: UInt64

  /// The head of an empty history.
  public init(generation: UInt64 = 0) {
    self.generation = generation
    first = 1
    before = [UInt8](repeating: 0, count: SHA256.size)
    last = 0
    hash = before
  }

  /// The number of entries.
  public var count: UInt64 { last + 1 - first }

  /// Compares the head with the mark of the store, and returns the head from which the history goes on.
  ///
  /// Entries can follow the marked one, because an entry alone does not change the mark. A head that does not follow the
  /// mark was put back; the mark then says where the history ended, and the check finds the missing entries.
  ///
  /// - Parameter next: the `previous` of the entry after the marked one; `nil` if the entry is not there.
  /// - Returns: also what is wrong; `nil` if the head follows the mark.
  public func judged(by mark: HistoryMark, next: [UInt8]?) -> (head: HistoryHead, fault: HistoryFault?) {
    if generation > mark.generation { return (self, .oldStore) }
    let follows =
      generation == mark.generation
      && (last == mark.last ? hash == mark.hash : last > mark.last && (next ?? mark.hash) == mark.hash)
    if follows { return (self, nil) }
    var head = self
    (head.first, head.last) = (min(first, mark.last + 1), mark.last)
    (head.hash, head.generation) = (mark.hash, mark.generation)
    guard last != mark.last || hash != mark.hash else { return (head, nil) }
    return (head, last < mark.last ? .missing(last + 1...mark.last) : .changed(mark.last))
  }
}

/// What the hash over the rows of the store says of the history: where it ended at the last change of the store.
///
/// So an old history beside newer rows is found, and old rows beside a newer history: Recovery §6.
public struct HistoryMark: Sendable, Equatable {
  /// Increases by 1 each time that a mark is written.
  public var generation: UInt64
  /// The number of the newest entry; 0 if there is none.
  public var last: UInt64
  /// The hash of that entry, 32 bytes.
  public var hash: [UInt8]

  static let size = 8 + 8 + SHA256.size

  /// The end of a history.
  public init(of head: HistoryHead) { (generation, last, hash) = (head.generation, head.last, head.hash) }

  /// BE64(generation) ‖ BE64(last) ‖ hash, 48 bytes.
  var bytes: [UInt8] { generation.bigEndianBytes + last.bigEndianBytes + hash }

  init(bytes: [UInt8]) {
    (generation, last) = (UInt64(bigEndian: bytes[..<8]), UInt64(bigEndian: bytes[8..<16]))
    hash = Array(bytes[16...])
  }
}

extension UInt64 {
  fileprivate init(bigEndian bytes: ArraySlice<UInt8>) { self = bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// One entry as it is stored.
public struct HistoryRow: Sendable, Equatable {
  /// The entry's number.
  public var sequence: UInt64
  /// The hash of the entry before it, 32 bytes.
  public var previous: [UInt8]
  /// 24 bytes.
  public var nonce: [UInt8]
  /// 272 bytes.
  public var sealed: [UInt8]

  public init(sequence: UInt64, previous: [UInt8], nonce: [UInt8], sealed: [UInt8]) {
    (self.sequence, self.previous, self.nonce, self.sealed) = (sequence, previous, nonce, sealed)
  }

  /// SHA-256(previous ‖ nonce ‖ sealed): the `previous` of the next row.
  public var hash: [UInt8] { SHA256.hash(previous, nonce, sealed) }
}

// MARK: - Sealing and opening

extension CredentialKeys {
  /// Bytes of every padded entry, so that its length does not show its site.
  private static let historyEntrySize = 256

  /// Seals the entry that follows `head`.
  ///
  /// - Parameter nonce: 24 fresh random bytes.
  public func seal(
    _ entry: HistoryEntry, after head: HistoryHead, nonce: [UInt8]
  ) throws(CryptoError) -> HistoryRow {
    let plaintext = entry.plaintext + [0x80]
    let padding = [UInt8](repeating: 0, count: Self.historyEntrySize - plaintext.count)
    let sequence = head.last + 1
    let sealed = try XChaCha20Poly1305.seal(
      plaintext + padding, key: self[.history], nonce: nonce, ad: Self.historyAD(sequence, previous: head.hash))
    return HistoryRow(sequence: sequence, previous: head.hash, nonce: nonce, sealed: sealed)
  }

  /// Opens an entry; it does not open under another number or after another entry.
  public func open(_ row: HistoryRow) throws(RecoveryError) -> HistoryEntry {
    guard row.previous.count == SHA256.size,
      let padded = try? XChaCha20Poly1305.open(
        row.sealed, key: self[.history], nonce: row.nonce, ad: Self.historyAD(row.sequence, previous: row.previous))
    else { throw .notAuthentic }
    guard padded.count == Self.historyEntrySize, let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 0x80
    else { throw .malformed("no padding") }
    return try HistoryEntry(plaintext: Array(padded[..<end]))
  }

  /// "history" ‖ BE64(sequence) ‖ previous.
  private static func historyAD(_ sequence: UInt64, previous: [UInt8]) -> [UInt8] {
    Array("history".utf8) + sequence.bigEndianBytes + previous
  }

  private static let historyHeadAD = Array("history-head".utf8)

  /// Seals BE64(first) ‖ before ‖ BE64(last) ‖ hash ‖ BE64(generation), padded to 128 bytes.
  ///
  /// - Parameter nonce: 24 fresh random bytes.
  public func seal(_ head: HistoryHead, nonce: [UInt8]) throws(CryptoError) -> [UInt8] {
    try XChaCha20Poly1305.seal(
      RowPadding.pad(
        head.first.bigEndianBytes + head.before + head.last.bigEndianBytes + head.hash
          + head.generation.bigEndianBytes),
      key: self[.history], nonce: nonce, ad: Self.historyHeadAD)
  }

  /// Opens the head; before version 10 of the store, it has no generation.
  public func openHistoryHead(_ sealed: [UInt8], nonce: [UInt8]) throws(RecoveryError) -> HistoryHead {
    guard let padded = try? XChaCha20Poly1305.open(sealed, key: self[.history], nonce: nonce, ad: Self.historyHeadAD)
    else { throw .notAuthentic }
    guard let plaintext = RowPadding.unpad(padded).map(Array.init), [80, 88].contains(plaintext.count) else {
      throw .malformed("two numbers with two hashes, and a generation")
    }
    func number(_ start: Int) -> UInt64 { UInt64(bigEndian: plaintext[start..<start + 8]) }
    var head = HistoryHead(generation: plaintext.count == 80 ? 0 : number(80))
    (head.first, head.before) = (number(0), Array(plaintext[8..<40]))
    (head.last, head.hash) = (number(40), Array(plaintext[48..<80]))
    guard head.first > 0, head.last >= head.first - 1, head.last < Int64.max else {
      throw .malformed("the numbers of the entries")
    }
    return head
  }
}

// MARK: - CBOR

extension HistoryEntry {
  private enum Key {
    static let time: CBORValue = 1
    static let site: CBORValue = 2
    static let kind: CBORValue = 3
    static let outcome: CBORValue = 4
    static let verification: CBORValue = 5
    static let door: CBORValue = 6
    static let all: [CBORValue] = [time, site, kind, outcome, verification, door]
  }

  /// {1: time, 2: site?, 3: kind, 4: outcome, 5: verification, 6: door?}.
  var plaintext: [UInt8] {
    var map: CBORMap = [
      Key.time: .unsigned(time), Key.kind: .unsigned(UInt64(kind.rawValue)),
      Key.outcome: .unsigned(UInt64(outcome.rawValue)), Key.verification: .unsigned(UInt64(verification.rawValue)),
    ]
    map[Key.site] = site.map { .text($0) }
    map[Key.door] = door.map { .unsigned(UInt64($0.rawValue)) }
    return CBOREncoder.encode(.map(map))
  }

  init(plaintext: [UInt8]) throws(RecoveryError) {
    do throws(CBORError) {
      let map = try CBORDecoder.decode(plaintext).mapOfOurs()
      try map.refuseOtherKeys(Key.all.contains)
      guard let kind = Kind(rawValue: try map.requiredInteger(Key.kind)),
        let outcome = Outcome(rawValue: try map.requiredInteger(Key.outcome)),
        let verification = Verification(rawValue: try map.requiredInteger(Key.verification))
      else { throw .invalid("a kind, outcome or verification that does not exist") }
      let number = try map.optionalUnsigned(Key.door)
      let door = number.flatMap(UInt8.init(exactly:)).flatMap(Door.init)
      guard number == nil || door != nil else { throw .invalid("a door that does not exist") }
      let site = try map.optionalText(Key.site)
      guard site.map({ $0.utf8.count <= Self.maximumSiteSize }) ?? true else {
        throw .invalid("a site that is too long")
      }
      self.init(
        time: try map.requiredInteger(Key.time), site: site, kind: kind, outcome: outcome,
        verification: verification, door: door)
    } catch {
      throw .malformed(error.description)
    }
  }
}

// MARK: - The chain

/// Something that is wrong with a history.
public enum HistoryFault: Sendable, Equatable {
  /// The head is missing, or does not open: where the history begins and ends is unknown.
  case noHead
  /// The entry is not the one that was written.
  case changed(UInt64)
  /// The entries are not there.
  case missing(ClosedRange<UInt64>)
  /// An entry with this number does not belong to the history.
  case added(Int64)
  /// The rest of the store is older than the history.
  case oldStore
}

extension HistoryFault: CustomStringConvertible {
  /// Which entries, and what happened to them.
  public var description: String {
    switch self {
    case .noHead: "the row that says where the history begins and ends was changed or removed"
    case .changed(let number): "entry \(number) was changed"
    case .missing(let numbers) where numbers.count == 1: "entry \(numbers.lowerBound) is missing"
    case .missing(let numbers): "entries \(numbers.lowerBound) to \(numbers.upperBound) are missing"
    case .added(let number): "entry \(number) was added"
    case .oldStore: "the rest of the store is an old copy, older than the history"
    }
  }
}

/// Follows the chain of a history from its first entry to its last, and collects what is wrong.
public struct HistoryCheck: Sendable {
  private let head: HistoryHead?
  /// The number of the next entry; `nil` before the first one of a history without a head.
  private var expected: UInt64?
  /// The hash that the next entry must follow; `nil` after a fault.
  private var hash: [UInt8]?
  /// What is wrong, in the order of the entries.
  public private(set) var faults: [HistoryFault] = []

  /// - Parameter head: `nil` if it is missing or does not open.
  public init(_ head: HistoryHead?) {
    self.head = head
    expected = head?.first
    hash = head?.before
    if head == nil { faults.append(.noHead) }
  }

  /// Checks the next row, in the order of the numbers.
  ///
  /// - Returns: its entry; `nil` if it is none of this history.
  @discardableResult
  public mutating func add(_ row: HistoryRow, sequence: Int64, keys: CredentialKeys) -> HistoryEntry? {
    guard let number = UInt64(exactly: sequence), number >= expected ?? 1, number <= head?.last ?? .max else {
      faults.append(.added(sequence))
      return nil
    }
    if let expected, number > expected {
      faults.append(.missing(expected...number - 1))
      hash = nil
    }
    expected = number + 1
    guard let entry = try? keys.open(row) else {
      faults.append(.changed(number))
      hash = nil
      return nil
    }
    // The entry before this one opens, but is another than the one that this one follows.
    if let hash, hash != row.previous { faults.append(.changed(max(number - 1, head?.first ?? 1))) }
    hash = row.hash
    return entry
  }

  /// Checks the end, after the last row.
  public mutating func finish() {
    guard let head, let expected else { return }
    if expected <= head.last {
      faults.append(.missing(expected...head.last))
    } else if let hash, hash != head.hash {
      faults.append(.changed(head.last))
    }
  }
}
