import PasskeyFiles
import Recovery
import StateDirectory

/// The result of `liquid-auth export`: the outcome for each passkey.
struct ExportResult {
  /// A passkey of the store.
  struct Passkey: Equatable {
    let name: PasskeyName
    /// What was left out of an exported passkey, or why the passkey was not exported.
    let reasons: [String]
  }

  let format: PasskeyExportFile.Format
  /// The passkeys in the file.
  private(set) var exported: [Passkey] = []
  /// The passkeys that the file does not have.
  private(set) var skipped: [Passkey] = []

  init(_ format: PasskeyExportFile.Format) { self.format = format }

  /// Adds a passkey to a file, and keeps the outcome.
  mutating func add(_ passkey: PasskeyExportFile.Passkey, to file: PasskeyExportFile) {
    let name = PasskeyName(rpID: passkey.record.rpID, name: passkey.record.name ?? passkey.record.displayName)
    do throws(PasskeyFileError) {
      exported.append(Passkey(name: name, reasons: try file.append(passkey)))
    } catch {
      skipped.append(Passkey(name: name, reasons: [error.description]))
    }
  }

  /// Whether the file has passkeys, and none is missing.
  var isComplete: Bool { skipped.isEmpty && !exported.isEmpty }

  /// The warning before the dialog.
  static func warning(file: String) -> String {
    "\(file.printable) will have unencrypted private keys: anyone who reads it can sign in as you, and the sites cannot "
      + "tell; neither your passphrase nor your recovery phrase protects it"
  }

  /// For people; lines.
  func text(file: String, at place: PlaceOptions) -> String {
    var lines = [
      exported.isEmpty
        ? "nothing was exported, and no file was made"
        : "wrote \(file.printable): \(count(exported.count, "passkey")) in the format \(format.imported.rawValue)"
    ]
    for passkey in exported {
      lines.append(passkey.name.line)
      lines += passkey.reasons.map { "    not exported: \($0)" }
    }
    if !skipped.isEmpty {
      lines.append("\(count(skipped.count, "passkey")) not exported")
      for passkey in skipped {
        lines.append(passkey.name.line)
        lines += passkey.reasons.map { "    \($0)" }
      }
    }
    if !exported.isEmpty {
      if let loss = format.generalLoss { lines.append("the format has no place for \(loss)") }
      lines.append(
        "\(file.printable) has unencrypted private keys; delete it when the other program has the passkeys, also from the "
          + "trash and from backups of your disk")
      lines.append(
        "the passkeys still work here; to remove one, run: liquid-auth credentials remove ID\(place.arguments)")
    }
    return lines.joined(separator: "\n")
  }

  /// For programs.
  var json: JSON {
    let list = { (passkeys: [Passkey], reasons: String) in
      JSON.array(
        passkeys.map {
          [
            "rpId": .string($0.name.rpID), "name": JSON($0.name.name),
            reasons: .array($0.reasons.map(JSON.string)),
          ]
        })
    }
    return [
      "format": .string(format.imported.rawValue), "complete": .bool(isComplete), "exported": list(exported, "losses"),
      "notExported": list(skipped, "reasons"),
    ]
  }
}
