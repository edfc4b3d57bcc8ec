/// A key of the previous phrase, or several at one site, during the move to a new phrase: Recovery §14.
public struct RotationEntry: Sendable, Equatable {
  /// What is known about it.
  public enum Key: Sendable, Equatable {
    /// A passkey in the store of the previous phrase; the account's name.
    case passkey(name: String?)
    /// Keys that no store has, such as second factors and SSH keys: how many the history knows, and how many were
    /// registered at the site with the new phrase, besides passkeys that were moved.
    case others(before: Int, since: Int)
  }

  /// Whether the owner still has to do something.
  public enum State: UInt8, Sendable, CaseIterable {
    case left = 0
    /// The new phrase has a key for the account, or as many at the site.
    case moved = 1
    case givenUp = 2
  }

  /// The rp.id; of others at most 224 bytes; `nil` for U2F, which names no site.
  public let site: String?
  public let key: Key
  public let state: State

  public init(site: String?, key: Key, state: State) { (self.site, self.key, self.state) = (site, key, state) }

  /// The site as the history keeps it.
  var historySite: HistorySite { HistorySite(site) }
}

/// A record of the previous store, without its secrets: an imported key takes locked memory.
public struct RotationPasskey: Sendable, Equatable {
  /// The rp.id.
  public let rpID: String
  /// The user.id, 1 to 64 bytes.
  public let userID: [UInt8]
  /// The user.name.
  public let name: String?
  /// The origin of the record.
  public let origin: CredentialSource.Origin

  public init(_ source: CredentialSource) {
    (rpID, userID, name, origin) = (source.rpID, source.userID, source.name, source.origin)
  }
}

/// A site as the history keeps it; compared by its bytes.
struct HistorySite: Hashable {
  private let bytes: [UInt8]?

  init(_ site: String?) { bytes = site.map { Array(HistoryEntry.site($0).utf8) } }
}

extension RotationEntry {
  /// All keys of the previous phrase that are known, by site; U2F is last.
  ///
  /// - Parameters:
  ///   - passkeys: the records of the previous store; imported ones do not count, because they belong to no phrase.
  ///   - isMoved: whether the present store has a record of the same account.
  ///   - floor: of the previous store; 0 if no reset ended its keys, or if the owner undid the reset.
  ///   - previous: the history of the previous store, the oldest first.
  ///   - present: the history of the present store, which begins with a copy of the other one.
  public static func list<Failure>(
    passkeys: [RotationPasskey], isMoved: (RotationPasskey) throws(Failure) -> Bool, floor: UInt16,
    previous: [HistoryEntry], present: [HistoryEntry]
  ) throws(Failure) -> [RotationEntry] {
    var history = RotationHistory(resetEndsKeys: floor > 0)
    history.add(before: previous)
    history.add(since: present)
    var entries: [RotationEntry] = []
    for passkey in passkeys {
      let site = HistorySite(passkey.rpID)
      // The sign-ins of a site without a registration were those of this passkey.
      history.others[site]?.isUsed = false
      guard passkey.origin != .imported else { continue }
      let hasMoved = try isMoved(passkey)
      // Of the registrations, one before the move is that of this passkey, and one since then is that of the new one.
      if passkey.origin == .registered { history.others[site]?.registered -= 1 }
      if hasMoved { history.others[site]?.since -= 1 }
      let state: State = hasMoved ? .moved : history.givenUp.contains(site) ? .givenUp : .left
      entries.append(RotationEntry(site: passkey.rpID, key: .passkey(name: passkey.name), state: state))
    }
    for (site, others) in history.others where others.before > 0 {
      let since = max(others.since, 0)
      let state: State = since >= others.before ? .moved : history.givenUp.contains(site) ? .givenUp : .left
      entries.append(
        RotationEntry(site: others.name, key: .others(before: others.before, since: since), state: state))
    }
    return entries.sorted { a, b in
      guard let (left, right) = a.site.flatMap({ left in b.site.map { (left, $0) } }) else {
        return b.site == nil && a.site != nil
      }
      return left.utf8.lexicographicallyPrecedes(right.utf8)
    }
  }

  private static let listing = ["liquid-auth", "rotate", "list"]

  /// Throws if a key is left, so that the previous phrase is still needed.
  ///
  /// - Throws: `rotation`.
  public static func refuseKeysLeft(in list: [RotationEntry]) throws(RecoveryError) {
    let left = list.count { $0.state == .left }
    guard left > 0 else { return }
    throw RecoveryError(
      .rotation, "\(left) \(left == 1 ? "key" : "keys") of the old phrase \(left == 1 ? "is" : "are") left",
      hint: "register again at these sites, or give them up; see:", run: listing)
  }

  /// What is wrong with the histories, so that keys can be missing from the list; `nil` if they are whole.
  ///
  /// - Parameters:
  ///   - previous: the faults of the history of the previous store.
  ///   - present: the faults of that of the present store.
  public static func historyFault(previous: [HistoryFault], present: [HistoryFault]) -> String? {
    let (faults, owner) = previous.isEmpty ? (present, "") : (previous, " of the old phrase")
    guard let first = faults.first else { return nil }
    let more = faults.count > 1 ? ", and \(faults.count - 1) more" : ""
    return "the history\(owner) was modified outside liquid-auth: \(first)\(more)"
  }

  /// Throws if a history was modified, so that keys can be missing from the list.
  ///
  /// - Parameter fault: ``historyFault(previous:present:)``.
  /// - Throws: `rotation`.
  public static func refuse(historyFault fault: String?) throws(RecoveryError) {
    guard let fault else { return }
    throw RecoveryError(
      .rotation, "\(fault); keys of the old phrase can be missing from the list",
      hint: "if you need none of them, run:", run: ["liquid-auth", "rotate", "end", "--accept-history"])
  }

  /// The entries of the history that give up sites.
  ///
  /// - Parameters:
  ///   - sites: `nil` is U2F.
  ///   - now: Unix milliseconds.
  /// - Throws: `rotation` if the list does not have one of the sites, or if all keys of a site are moved.
  public static func givingUp(
    _ sites: [String?], in list: [RotationEntry], now: UInt64
  ) throws(RecoveryError) -> [HistoryEntry] {
    let known = Set(list.map(\.historySite))
    let unmoved = Set(list.filter { $0.state != .moved }.map(\.historySite))
    for site in sites where !unmoved.contains(HistorySite(site)) {
      let place = site.map { "at \($0)" } ?? "of U2F"
      throw RecoveryError(
        .rotation,
        known.contains(HistorySite(site))
          ? "all keys of the old phrase \(place) are already moved; nothing was given up"
          : "the old phrase has no known key \(place)",
        hint: "see:", run: listing)
    }
    return sites.map { site in
      HistoryEntry(time: now, site: site, kind: .giveUpSite, outcome: .done, verification: .passphrase)
    }
  }
}

/// The stores of both phrases; this one is that of the present phrase.
extension HistoryStore {
  /// All keys of the previous phrase that are known, by site; opens one record at a time.
  public func rotationEntries(previous: any HistoryStore) throws(RecoveryError) -> [RotationEntry] {
    try RotationEntry.list(
      passkeys: previous.credentials { RotationPasskey($0) },
      isMoved: { (passkey) throws(RecoveryError) in
        try account(rpIDHash: RPIDHash(rpID: passkey.rpID), userID: passkey.userID)?.record != nil
      }, floor: previous.state().floor, previous: previous.historyEntries(), present: historyEntries())
  }

  /// What is wrong with the histories of both stores, so that keys can be missing from the list; `nil` if they are
  /// whole.
  public func rotationHistoryFault(previous: any HistoryStore) throws(RecoveryError) -> String? {
    RotationEntry.historyFault(previous: try previous.checkHistory().faults, present: try checkHistory().faults)
  }

  /// Gives up the keys of the previous phrase at sites, all or none; nothing stops working.
  ///
  /// - Parameters:
  ///   - sites: `nil` is U2F.
  ///   - now: Unix milliseconds.
  /// - Throws: `rotation` if a site has no known key, or if all its keys are moved.
  public func giveUp(_ sites: [String?], previous: any HistoryStore, now: UInt64) throws(RecoveryError) {
    let entries = try RotationEntry.givingUp(sites, in: rotationEntries(previous: previous), now: now)
    try appendDurably(entries)
  }
}

/// What the histories of both stores say about keys that no store has.
private struct RotationHistory {
  struct Others {
    let name: String?
    /// The registrations, without those of keys that were removed or have records.
    var registered = 0
    /// Whether a key signed in while no registration was counted: its own may be too old for the history.
    var isUsed = false
    var since = 0

    /// How many keys the history knows.
    var before: Int { max(registered, isUsed ? 1 : 0) }
  }

  /// Whether keys from before a reset do not work.
  let resetEndsKeys: Bool
  var others: [HistorySite: Others] = [:]
  var givenUp: Set<HistorySite> = []

  init(resetEndsKeys: Bool) { self.resetEndsKeys = resetEndsKeys }

  /// Adds what was done with the previous phrase, from the entry on with which its own move began.
  mutating func add(before entries: [HistoryEntry]) {
    for entry in entries.sinceRotation where entry.outcome == .done {
      let site = HistorySite(entry.site)
      switch entry.kind {
      case .reset: if resetEndsKeys { others = [:] }
      case .register, .u2fRegister: others[site, default: Others(name: entry.site)].registered += 1
      case .removePasskey:
        // The registration of a passkey that was imported, merged or restored is not in this history.
        if let registered = others[site]?.registered, registered > 0 { others[site]?.registered = registered - 1 }
      case .signIn, .u2fSignIn:
        if (others[site]?.registered ?? 0) == 0 { others[site, default: Others(name: entry.site)].isUsed = true }
      default: break
      }
    }
  }

  /// Adds what was done since the move began.
  mutating func add(since entries: [HistoryEntry]) {
    for entry in entries.sinceRotation where entry.outcome == .done {
      let site = HistorySite(entry.site)
      switch entry.kind {
      case .reset: if resetEndsKeys { (others, givenUp) = ([:], []) }
      case .register, .u2fRegister: others[site]?.since += 1
      case .removePasskey: if let since = others[site]?.since, since > 0 { others[site]?.since = since - 1 }
      case .giveUpSite: givenUp.insert(site)
      default: break
      }
    }
  }
}

extension [HistoryEntry] {
  /// The entries after the last beginning of a move to a new phrase; all if there is none.
  fileprivate var sinceRotation: ArraySlice<HistoryEntry> {
    self[((lastIndex { $0.kind == .beginRotation } ?? -1) + 1)...]
  }
}
