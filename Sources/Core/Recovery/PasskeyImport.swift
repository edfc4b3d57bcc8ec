import CBOR
public import CryptoPrimitives
import DeterministicKeys
import Synchronization

// MARK: - The limits of an imported passkey

extension CredentialSource {
  /// The fewest bytes of an imported passkey's id (WebAuthn §4, Credential ID).
  public static let minimumImportedIDLength = 16
  /// The most bytes of an imported passkey's id: maxCredentialIdLength of getInfo (Recovery §4).
  public static let maximumImportedIDLength = 128
  /// The most bytes of an imported passkey's rp.id, which is a domain name.
  public static let maximumImportedRPIDLength = 253
  /// The most bytes of a name that the owner sets, and of an imported one.
  public static let maximumNameLength = 255
  /// The most bytes of a credBlob: maxCredBlobLength of getInfo.
  public static let maximumCredBlobLength = 64

  /// The record of a passkey from another program: source 2, counter 0, and not changed yet.
  ///
  /// - Parameters:
  ///   - rpID: a domain name in lower case, 1 to 253 bytes; an internationalized one in its ASCII form (`xn--`), as browsers
  ///     send it.
  ///   - userID: 1 to 64 bytes.
  ///   - name: at most 255 bytes, as is `displayName`; an empty one counts as none.
  ///   - id: 16 to 128 bytes.
  ///   - created: Unix milliseconds.
  ///   - credBlob: 1 to 64 bytes.
  ///   - key: a P-256 scalar or an Ed25519 seed, 32 bytes.
  ///   - credRandoms: CredRandomWithoutUV ‖ CredRandomWithUV, 64 bytes; `nil` if the other program gives none.
  /// - Throws: `malformed` if a limit is exceeded, the site is not a domain name, or the key cannot be used.
  public static func imported(
    rpID: String, userID: [UInt8], name: String?, displayName: String?, id: [UInt8], algorithm: COSEAlgorithm,
    isForThirdPartyPayment: Bool = false, created: UInt64, credBlob: [UInt8]? = nil, key: SecretBytes,
    credRandoms: SecretBytes? = nil
  ) throws(RecoveryError) -> CredentialSource {
    let source = CredentialSource(
      rpID: rpID, userID: userID, name: name?.isEmpty == false ? name : nil,
      displayName: displayName?.isEmpty == false ? displayName : nil, id: id, algorithm: algorithm, counter: 0,
      policy: CredentialPolicy(thirdPartyPayment: isForThirdPartyPayment), created: created, changed: 0,
      origin: .imported, credBlob: credBlob, importedKey: key, credRandoms: credRandoms)
    guard let source else {
      guard 1...64 ~= userID.count else { throw outOfRange("the user handle", userID.count, 1...64) }
      throw RecoveryError(.malformed, "the CredRandoms do not have \(credRandomsSize) bytes")
    }
    try source.checkImport()
    return source
  }

  /// Checks the limits of Recovery §6 and §9, and the private key.
  fileprivate func checkImport() throws(RecoveryError) {
    for (what, count, range) in [
      ("the site", rpID.utf8.count, 1...Self.maximumImportedRPIDLength),
      ("the credential id", id.count, Self.minimumImportedIDLength...Self.maximumImportedIDLength),
      ("the name", name?.utf8.count ?? 0, 0...Self.maximumNameLength),
      ("the display name", displayName?.utf8.count ?? 0, 0...Self.maximumNameLength),
      ("the credBlob", credBlob?.count ?? 1, 1...Self.maximumCredBlobLength),
    ] where !range.contains(count) {
      throw Self.outOfRange(what, count, range)
    }
    guard Self.isDomainName(rpID) else {
      throw RecoveryError(.malformed, "the site is not a domain name in lower case")
    }
    guard let importedKey, (try? CredentialPrivateKey(secret: importedKey, algorithm: algorithm)) != nil else {
      throw RecoveryError(.malformed, "the private key cannot be used")
    }
  }

  private static func outOfRange(_ what: String, _ count: Int, _ range: ClosedRange<Int>) -> RecoveryError {
    let reason =
      if count == 0 {
        "\(what) is empty"
      } else if count < range.lowerBound {
        "\(what) has fewer than \(range.lowerBound) bytes"
      } else {
        "\(what) has \(count) bytes, and can have at most \(range.upperBound)"
      }
    return RecoveryError(.malformed, reason)
  }

  /// Whether the text is a domain name as browsers send it: labels of a–z, 0–9 and "-".
  package static func isDomainName(_ text: String) -> Bool {
    text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
      !label.isEmpty
        && label.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
          default: false
          }
        }
    }
  }
}

// MARK: - The list

/// Passkeys with their private keys, as the command sends them to the authenticator: a CBOR array of byte strings, each
/// the plaintext of a record (Recovery §6) with source 2, counter 0 and changed 0.
///
/// The list is wiped at the end.
public final class PasskeyList {
  /// The most passkeys of a list, because one transaction writes them.
  public static let maximumCount = 10_000
  /// The most bytes of an encoded list.
  public static let maximumSize = 16_777_216

  /// The number of passkeys.
  public private(set) var count = 0
  private var entries: [UInt8] = []

  /// An empty list.
  public init() {}

  deinit { wipe(&entries) }

  /// Adds the record of an imported passkey.
  public func append(_ source: CredentialSource) {
    var plaintext = AccountEntry.record(source).plaintext
    var encoded = CBOREncoder.encode(.bytes(plaintext))
    defer {
      wipe(&plaintext)
      wipe(&encoded)
    }
    entries.appendWiping(encoded)
    count += 1
  }

  /// The encoded list; the caller wipes it.
  public var encoded: [UInt8] {
    var list: [UInt8] = []
    let head = CBOREncoder.head(ofArray: count)
    list.reserveCapacity(head.count + entries.count)
    list += head
    list += entries
    return list
  }
}

// MARK: - The import

/// The outcome of the import for one passkey of a list.
public enum PasskeyImportOutcome: UInt8, Sendable, CaseIterable {
  /// It was stored.
  case added = 0
  /// The store has it already, with the same key, and with the same CredRandoms if the list has any.
  case present = 1
  /// An earlier passkey of the list has the same id.
  case repeated = 2
  /// The store has another key, or other CredRandoms, with the same id, and keeps them.
  case otherKey = 3
  /// The phrase derives it: its id is a sealed one of this phrase.
  case derived = 4
}

/// Imports a list of passkeys in one transaction.
public final class PasskeyImport: Sendable {
  private struct Passkey {
    let plaintext: Range<Int>
    let rpIDHash: RPIDHash
    let id: [UInt8]
    let tag: [UInt8]
    let publicKey: CredentialPublicKey
    /// The outcome, if it does not depend on the store; otherwise `nil`.
    let outcome: PasskeyImportOutcome?
  }

  private let list: Mutex<[UInt8]>
  private let passkeys: [Passkey]

  /// Reads and checks a whole list, and derives the public keys.
  ///
  /// - Parameters:
  ///   - list: the only reference to the bytes, because they are overwritten.
  ///   - keys: the keys of the store's phrase.
  /// - Throws: `malformed` for a list that ``PasskeyList`` does not write, with the number of the passkey.
  public init(list: consuming [UInt8], keys: CredentialKeys) throws(RecoveryError) {
    do throws(RecoveryError) {
      passkeys = try Self.read(list, keys: keys)
    } catch {
      wipe(&list)
      throw error
    }
    self.list = Mutex(list)
  }

  deinit { list.withLock { wipe(&$0) } }

  /// The number of passkeys.
  public var count: Int { passkeys.count }

  private static func read(_ list: [UInt8], keys: CredentialKeys) throws(RecoveryError) -> [Passkey] {
    guard list.count <= PasskeyList.maximumSize else { throw .malformed("more than 16 MiB of passkeys") }
    let ranges: [Range<Int>]
    do throws(CBORError) { ranges = try Self.ranges(list) } catch { throw .malformed(error.description) }
    var passkeys: [Passkey] = []
    var tags: Set<[UInt8]> = []
    for (index, range) in ranges.enumerated() {
      var plaintext = Array(list[range])
      defer { wipe(&plaintext) }
      do throws(RecoveryError) {
        guard case .record(let record) = try AccountEntry(plaintext: plaintext), record.origin == .imported,
          record.counter == 0, record.changed == 0
        else { throw .malformed("it is not the record of an imported passkey") }
        try record.checkImport()
        let publicKey = try Self.publicKey(of: record, keys: keys)
        let (rpIDHash, tag) = (record.rpIDHash, keys.accountTag(of: record))
        let isDerived = keys.open(sealedID: record.id, rpIDHash: rpIDHash) != nil
        passkeys.append(
          Passkey(
            plaintext: range, rpIDHash: rpIDHash, id: record.id, tag: tag, publicKey: publicKey,
            outcome: !tags.insert(tag).inserted ? .repeated : isDerived ? .derived : nil))
      } catch {
        throw RecoveryError(error.kind, "passkey \(index + 1) of \(ranges.count): \(error.reason)", hint: error.hint)
      }
    }
    return passkeys
  }

  private static func publicKey(
    of record: CredentialSource, keys: CredentialKeys
  ) throws(RecoveryError) -> CredentialPublicKey {
    do { return try keys.privateKey(of: record).publicKey } catch {
      throw .malformed("a private key that cannot be used: \(error)")
    }
  }

  private static func ranges(_ list: [UInt8]) throws(CBORError) -> [Range<Int>] {
    var cursor = CBORCursor(list.indices)
    guard case .array(let count) = try cursor.next(in: list), count <= PasskeyList.maximumCount else {
      throw .invalid("not a list of at most \(PasskeyList.maximumCount) passkeys")
    }
    var ranges: [Range<Int>] = []
    for _ in 0..<count {
      guard case .bytes(let range) = try cursor.next(in: list) else { throw .invalid("a passkey that is not bytes") }
      ranges.append(range)
    }
    guard cursor.isAtEnd else { throw .invalid("trailing bytes") }
    return ranges
  }

  /// Compares the list with a store, and writes the passkeys that the store lacks in one transaction.
  ///
  /// At most one record of the list and one of the store are open, because each secret takes a page of locked memory.
  /// - Parameters:
  ///   - now: Unix milliseconds.
  ///   - limit: the most passkeys that the store may have afterwards.
  /// - Returns: the outcome for each passkey, in the order of the list.
  /// - Throws: `full` or `store`; then nothing was written.
  public func run(
    on store: any CredentialStore, keys: CredentialKeys, now: UInt64,
    limit: Int = OpenVault.defaultMaximumDiscoverableCredentials
  ) throws(RecoveryError) -> [PasskeyImportOutcome] {
    var (outcomes, added): ([PasskeyImportOutcome], [(index: Int, changed: UInt64)]) = ([], [])
    for (index, passkey) in passkeys.enumerated() {
      let outcome =
        if let outcome = passkey.outcome { outcome } else { try self.outcome(at: index, in: store, keys: keys) }
      outcomes.append(outcome)
      guard outcome == .added else { continue }
      // Later than a removal of this passkey, so that the import wins a merge.
      let removed = try store.entry(accountTag: passkey.tag)?.changed ?? 0
      added.append((index, max(now, removed == .max ? .max : removed + 1)))
    }
    guard !added.isEmpty else { return outcomes }
    let room = max(0, limit - (try store.credentialCount()))
    guard added.count <= room else {
      throw RecoveryError(
        .full,
        "the passkeys would exceed the limit of this machine: \(added.count) are new, and at most \(room) can be added",
        hint: "import fewer, or restart the authenticator with a higher --max-passkeys")
    }
    try store.save(count: added.count) { place in
      let (index, changed) = added[place]
      var record = self.record(at: index).droppingCredRandoms(of: keys)
      record.changed = changed
      return (record, passkeys[index].publicKey)
    }
    return outcomes
  }

  private func outcome(
    at index: Int, in store: any CredentialStore, keys: CredentialKeys
  ) throws(RecoveryError) -> PasskeyImportOutcome {
    let passkey = passkeys[index]
    guard let record = try store.credential(id: passkey.id, rpIDHash: passkey.rpIDHash) else { return .added }
    guard (try? keys.privateKey(of: record).publicKey) == passkey.publicKey else { return .otherKey }
    guard let credRandoms = self.record(at: index).credRandoms else { return .present }
    return credRandoms == keys.credRandoms(of: record) ? .present : .otherKey
  }

  /// A record of the list, which was checked when the list was read.
  private func record(at index: Int) -> CredentialSource {
    var plaintext = list.withLock { Array($0[passkeys[index].plaintext]) }
    defer { wipe(&plaintext) }
    guard case .record(let record) = try? AccountEntry(plaintext: plaintext) else {
      preconditionFailure("a record that was read before")
    }
    return record
  }
}
