import ControlProtocol
import Recovery
import StateDirectory

/// `1 passkey`, `2 passkeys`.
func count(_ number: some BinaryInteger, _ noun: String, plural: String? = nil) -> String {
  "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
}

/// The results of `liquid-auth backup` and `liquid-auth restore` for people.
enum BackupText {
  /// What was merged, and what was not and why; lines.
  static func restored(_ result: MergeResult) -> String {
    var lines = [changes(result)]
    let older = result.kept - min(result.kept, result.keptImported.count + result.removedHere.count)
    if older > 0 {
      lines.append(
        older == 1
          ? "1 entry of the backup not taken: the one here is newer"
          : "\(older) entries of the backup not taken: those here are newer")
    }
    // Their number is in the first line.
    if result.removed.count > 0 { lines += ["removed, as on another machine:"] + names(of: result.removed) }
    lines += named(
      result.removedHere,
      "not restored: removed later, here or on another machine; if you need one, register a new one at its site")
    lines += named(result.keptImported, "imported, and kept: the backup has another key with the same id")
    lines += named(result.leftImported, "imported, and only in the backup: keep the file")
    switch result.largeBlobs {
    case .none, .same: break
    case .taken: lines.append("the large blobs of the backup are here now")
    case .keptBack(let entries):
      let others =
        entries == 0 ? "those of the backup are different" : "\(count(entries, "large blob")) only in the backup"
      lines.append("the large blobs of this machine stay; \(others): keep the file")
    case .invalid: lines.append("the large blobs of the backup are damaged, and were not taken")
    }
    if result.raisesEpoch {
      lines.append("the backup was made after a later reset; all passkeys stay valid here")
    }
    if result.entriesAhead > 0 {
      lines.append(
        "\(count(result.entriesAhead, "entry", plural: "entries")) changed more than a day in the future: check the "
          + "clocks of your machines")
    }
    return lines.joined(separator: "\n")
  }

  /// The result of merging a file of the folder of backups, without names; one line.
  static func followed(_ result: MergeResult) -> String {
    var parts = [result.changesStore ? changes(result) : "nothing new"]
    if result.keptImported.count > 0 {
      parts.append("\(count(result.keptImported.count, "imported passkey")) kept here")
    }
    if result.leftImported.count > 0 {
      parts.append("\(count(result.leftImported.count, "imported passkey")) only in this file: keep it")
    }
    switch result.largeBlobs {
    case .none, .same: break
    case .taken: parts.append("large blobs added")
    case .keptBack(0): parts.append("different large blobs only in this file: keep it")
    case .keptBack(let entries): parts.append("\(count(entries, "large blob")) only in this file: keep it")
    case .invalid: parts.append("its large blobs are damaged")
    }
    if result.raisesEpoch { parts.append("made after a later reset") }
    if result.entriesAhead > 0 {
      parts.append("\(count(result.entriesAhead, "entry", plural: "entries")) changed more than a day in the future")
    }
    return parts.joined(separator: "; ")
  }

  /// What is only in a file of the folder of backups after its merge; one line.
  ///
  /// - Parameter result: that of the merge; `nil` if the store has everything.
  static func left(by result: MergeResult?) -> String {
    guard var rest = result, BackupRest(rest) != .nothing else { return "nothing new" }
    (rest.added, rest.changed, rest.noted, rest.removed.count, rest.raisesEpoch) = (0, 0, 0, 0, false)
    if rest.largeBlobs == .taken { rest.largeBlobs = .same }
    return followed(rest)
  }

  private static func changes(_ result: MergeResult) -> String {
    let changes = [(result.added, "added"), (result.changed, "changed"), (result.removed.count, "removed")]
      .filter { $0.0 > 0 }
    if let first = changes.first {
      let rest = changes.dropFirst().map { ", \($0.0) \($0.1)" }.joined()
      return "\(count(first.0, "passkey")) \(first.1)\(rest)"
    }
    if result.changesStore { return "no passkey changed" }
    let isAllHere = result.kept == 0 && !result.backupHasMore
    return isAllHere ? "nothing changed: this store already has everything in the backup" : "nothing changed"
  }

  private static func named(_ passkeys: MergeResult.NamedPasskeys, _ text: String) -> [String] {
    guard passkeys.count > 0 else { return [] }
    return ["\(count(passkeys.count, "passkey")) \(text)"] + names(of: passkeys)
  }

  private static func names(of passkeys: MergeResult.NamedPasskeys) -> [String] {
    let names = passkeys.names.map(\.line)
    let others = passkeys.count - UInt64(passkeys.names.count)
    return names + (others > 0 ? ["  and \(count(others, "other"))"] : [])
  }

  /// Why the phrase that was typed cannot check a backup; fingerprints have 4 bytes.
  ///
  /// - Parameters:
  ///   - typed: the fingerprint of that phrase.
  ///   - backup: the fingerprint in the file.
  static func wrongPhrase(
    _ typed: [UInt8], vault: OwnedVault.Fingerprints, _ file: String, backup: [UInt8]
  ) -> String {
    let present = vault.present.hexadecimal
    guard typed != vault.previous else {
      return "you typed the old phrase, \(typed.hexadecimal); type the new one, \(present); nothing was checked"
    }
    let other = backup == vault.present ? "" : "; \(file) is of the phrase \(backup.hexadecimal)"
    return "this is not the phrase of this vault, \(present)\(other); nothing was checked"
  }

  /// Why a file in the folder of backups is not merged during a move to a new phrase.
  static func ofPreviousPhrase(_ fingerprint: [UInt8]) -> String {
    "it is of the old phrase \(fingerprint.hexadecimal); keep it until the move ends and no other machine has that phrase"
  }

  /// Whether anything would be missing, and what; lines.
  static func checked(_ report: BackupCheckReport, _ file: String, at place: PlaceOptions) -> String {
    let number = { (passkeys: Int, text: String) in "\(count(UInt64(passkeys), "passkey")) \(text)" }
    let head =
      switch (report.isComplete, report.passkeys) {
      case (false, _): "the backup is incomplete"
      case (true, 0): "nothing would be missing: this store has no passkeys"
      case (true, let passkeys):
        "nothing would be missing: the backup has \(number(passkeys, "of this store"))"
      }
    var lines = [head]
    if report.same > 0 { lines.append(number(report.same, "with the same keys and PRF secrets")) }
    if report.onlyBytes > 0 {
      lines.append("\(report.onlyBytes) of these with a key or an id that is not derived: the bytes are the same")
    }
    if report.newer > 0 { lines.append(number(report.newer, "newer in the backup")) }
    for (names, text) in [
      (report.missing, "missing from the backup"),
      (report.removed, "removed in the backup: a restore removes it here, too"), (report.older, "older in the backup"),
      (report.otherKeys, "with another key or PRF secret: this is a fault of liquid-auth; report it"),
    ] where !names.isEmpty {
      lines.append(number(names.count, text))
      lines += names.map(\.line)
    }
    if report.missingLargeBlobs > 0 {
      lines.append("\(count(UInt64(report.missingLargeBlobs), "large blob")) missing from the backup")
    }
    if report.missingRemovals > 0 {
      lines.append("\(count(UInt64(report.missingRemovals), "removal")) missing from the backup")
    }
    if report.onlyInBackup > 0 { lines.append(number(report.onlyInBackup, "only in the backup")) }
    if report.onlyInBackupLargeBlobs > 0 {
      lines.append("\(count(UInt64(report.onlyInBackupLargeBlobs), "large blob")) only in the backup")
    }
    if !report.isComplete { lines.append(advice(report, file, at: place)) }
    return lines.joined(separator: "\n")
  }

  /// How to get a complete backup: `liquid-auth backup` does not replace a file that has more than the store.
  private static func advice(_ report: BackupCheckReport, _ file: String, at place: PlaceOptions) -> String {
    let end = "\(CommandPlace.quoted(file))\(place.arguments)"
    if report.newer + report.onlyInBackup + report.removed.count > 0 {
      return
        "name another file for a new backup; or, to merge this one first, run: liquid-auth restore \(end); then run: "
        + "liquid-auth backup \(end)"
    }
    guard report.onlyInBackupLargeBlobs > 0 else { return "run: liquid-auth backup \(end)" }
    return "name another file for a new backup; or, to discard the large blobs that are only in this one, run: "
      + "liquid-auth backup --replace \(end)"
  }

  /// What a backup has that the store lacks.
  static func items(ofBackup result: MergeResult) -> [String] {
    let changes = result.added + result.changed + result.leftImported.count
    let removals = result.removed.count + result.noted
    var items: [String] = []
    if changes > 0 { items.append(count(changes, "passkey")) }
    if removals > 0 { items.append(count(removals, "removal")) }
    if result.keptImported.count > 0 {
      items.append(count(result.keptImported.count, "newer entry", plural: "newer entries") + " of imported passkeys")
    }
    switch result.largeBlobs {
    case .none, .same: break
    case .taken, .keptBack, .invalid: items.append("large blobs")
    }
    if items.isEmpty { items.append("a later reset") }
    return items
  }

  /// Whether a backup that has more than the store is replaced.
  ///
  /// Without `--replace`, only the last backup of this store is, and only if what it has more are large blobs that were
  /// replaced here since.
  static func isReplaced(_ result: MergeResult, always: Bool) -> Bool {
    isReplaceable(result) && (always || BackupRest(result) == .largeBlobs(replaced: true))
  }

  /// Whether `--replace` replaces the backup: a restore would take nothing but large blobs.
  static func isReplaceable(_ result: MergeResult) -> Bool { !result.changesEntries }

  /// Why a file that has more than the store is not replaced, and what to do.
  static func hasMore(_ result: MergeResult, _ file: String, at place: PlaceOptions) -> String {
    let all = items(ofBackup: result)
    let items = (all.dropLast(2) + [all.suffix(2).joined(separator: " and ")]).joined(separator: ", ")
    let end = "\(CommandPlace.quoted(file))\(place.arguments)"
    let restoring = "first run: liquid-auth restore \(end)"
    let replacing = "discard them with: liquid-auth backup --replace \(end)"
    return if !isReplaceable(result) {
      "\(file) has \(items) that this store lacks; \(restoring)"
    } else if result.largeBlobs == .taken {
      "\(file) has \(items) that this store lacks; \(restoring), or \(replacing)"
    } else {
      "\(file) has \(items) that cannot be merged into this store; name another file, or \(replacing)"
    }
  }
}

extension MergeResult {
  /// Whether the merge changed, or would change, an entry or the epoch of the store.
  var changesEntries: Bool { added + changed + removed.count + noted > 0 || raisesEpoch }
  /// Whether the merge changed, or would change, anything in the store.
  var changesStore: Bool { changesEntries || largeBlobs == .taken }

  /// For programs.
  var json: JSON {
    let (blobs, keptBack): (String, UInt64?) =
      switch largeBlobs {
      case .none: ("none", nil)
      case .taken: ("taken", nil)
      case .same: ("same", nil)
      case .keptBack(let entries): ("kept", entries)
      case .invalid: ("damaged", nil)
      }
    let number = { (count: UInt64) in JSON.number(Int64(clamping: count)) }
    let list = { (passkeys: NamedPasskeys) in
      JSON.array(passkeys.names.map { ["rpId": .string($0.rpID), "name": JSON($0.name)] })
    }
    return [
      "added": number(added), "changed": number(changed), "removed": number(removed.count),
      "removedPasskeys": list(removed), "removedHere": list(removedHere), "notedRemovals": number(noted),
      "kept": number(kept), "same": number(same), "keptImported": list(keptImported),
      "leftImported": list(leftImported), "entriesAhead": number(entriesAhead), "raisedEpoch": .bool(raisesEpoch),
      "largeBlobs": .string(blobs), "largeBlobsOnlyInBackup": keptBack.map(number) ?? .null,
    ]
  }
}

extension BackupCheckReport {
  /// For programs.
  var json: JSON {
    let number = { (count: Int) in JSON.number(Int64(count)) }
    let list = { (passkeys: [PasskeyName]) in
      JSON.array(passkeys.map { ["rpId": .string($0.rpID), "name": JSON($0.name)] })
    }
    return [
      "complete": .bool(isComplete), "passkeys": number(passkeys), "same": number(same), "onlyBytes": number(onlyBytes),
      "newer": number(newer), "missing": list(missing), "older": list(older), "otherKeys": list(otherKeys),
      "missingLargeBlobs": number(missingLargeBlobs), "missingRemovals": number(missingRemovals),
      "onlyInBackup": number(onlyInBackup), "removed": list(removed),
      "onlyInBackupLargeBlobs": number(onlyInBackupLargeBlobs),
    ]
  }
}
