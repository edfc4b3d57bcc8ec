import PasskeyFiles
import Recovery
import StateDirectory

/// The result of `liquid-auth import`: the outcome for each passkey of a file, and the other items.
struct ImportResult {
  /// A passkey of the file.
  struct Passkey {
    let item: Int
    let name: PasskeyName
    /// What was left out of an imported passkey, or why the passkey was not imported.
    let reasons: [String]
  }

  let format: PasskeyFile.Format
  /// The passkeys that this import stored.
  private(set) var added: [Passkey] = []
  /// The passkeys that the store had before, with the same key and PRF secret.
  private(set) var present: [Passkey] = []
  /// The passkeys that the store does not have with this key and PRF secret.
  private(set) var skipped: [Passkey] = []
  /// The titles of the items without a passkey.
  let withoutPasskey: [String]

  /// - Parameter outcomes: those of the passkeys of `file`, in the same order.
  init(_ file: PasskeyFile, outcomes: [PasskeyImportOutcome]) {
    (format, withoutPasskey) = (file.format, file.withoutPasskey)
    skipped = file.skipped.map { Passkey(item: $0.item, name: $0.name, reasons: [$0.reason]) }
    for (passkey, outcome) in zip(file.passkeys, outcomes) {
      func with(_ reasons: [String]) -> Passkey { Passkey(item: passkey.item, name: passkey.name, reasons: reasons) }
      switch outcome {
      case .added: added.append(with(passkey.losses))
      case .present: present.append(with([]))
      case .repeated: skipped.append(with(["an earlier passkey in the file has the same id"]))
      case .otherKey:
        skipped.append(with(["the store has a passkey with the same id and another key or PRF secret, which stays"]))
      case .derived:
        skipped.append(
          with([
            "it is derived from the phrase of this vault; if it is not in the store, sign in at its site; if it was "
              + "removed here, register a new one there"
          ]))
      }
    }
    skipped.sort { $0.item < $1.item }
  }

  /// Whether the file has passkeys, and all of them are now in the store.
  var isComplete: Bool { skipped.isEmpty && !(added.isEmpty && present.isEmpty) }

  /// The warning before the passphrase is asked for: even if the import fails, the owner must delete the file.
  ///
  /// It counts all passkeys of the file, including those that cannot be imported.
  static func notice(_ read: PasskeyFile, file: String) -> String {
    let passkeys = count(read.passkeys.count + read.skipped.count, "passkey")
    return "\(file.printable) has \(passkeys) in the format \(read.format.rawValue), with unencrypted private keys; "
      + "delete it when you no longer need it"
  }

  /// The most titles of items without a passkey that are shown.
  private static let shownTitles = 20

  /// For people; lines.
  func text(file: String, at place: PlaceOptions) -> String {
    let head =
      switch (added.count, present.count, skipped.count) {
      case (0, 0, 0): "no passkeys in this file"
      case (0, 0, _): "nothing was imported"
      case (0, let present, _): "nothing was imported: \(count(present, "passkey")) already in the store"
      case (let added, 0, _): "\(count(added, "passkey")) imported"
      case (let added, let present, _): "\(count(added, "passkey")) imported, \(present) already in the store"
      }
    var lines = [head]
    for passkey in added {
      lines.append(passkey.name.line)
      lines += passkey.reasons.map { "    not imported: \($0.printable)" }
    }
    if !skipped.isEmpty {
      lines.append("\(count(skipped.count, "passkey")) not imported")
      for passkey in skipped {
        lines.append(passkey.name.line)
        lines += passkey.reasons.map { "    item \(passkey.item): \($0.printable)" }
      }
    }
    if !withoutPasskey.isEmpty {
      lines.append("\(count(withoutPasskey.count, "item")) without a passkey")
      lines += withoutPasskey.prefix(Self.shownTitles).map { "  \($0.isEmpty ? "(no title)" : $0.printable)" }
      let others = withoutPasskey.count - Self.shownTitles
      if others > 0 { lines.append("  and \(count(others, "other"))") }
    }
    if !added.isEmpty {
      lines.append(
        "the phrase does not bring imported passkeys back; make a backup with: "
          + "liquid-auth backup FILE\(place.arguments)")
    }
    if !(added.isEmpty && present.isEmpty && skipped.isEmpty) {
      lines.append("\(file.printable) has unencrypted private keys; delete it when you no longer need it")
    }
    return lines.joined(separator: "\n")
  }

  /// For programs.
  var json: JSON {
    let list = { (passkeys: [Passkey], reasons: String) in
      JSON.array(
        passkeys.map {
          [
            "item": .number(Int64($0.item)), "rpId": .string($0.name.rpID), "name": JSON($0.name.name),
            reasons: .array($0.reasons.map(JSON.string)),
          ]
        })
    }
    return [
      "format": .string(format.rawValue), "complete": .bool(isComplete), "imported": list(added, "losses"),
      "present": list(present, "losses"), "notImported": list(skipped, "reasons"),
      "withoutPasskey": .array(withoutPasskey.map(JSON.string)),
    ]
  }
}

extension PasskeyName {
  /// The line of a passkey in a list for people.
  var line: String { "  \(rpID.printable)\(name.map { "  \($0.printable)" } ?? "")" }
}
