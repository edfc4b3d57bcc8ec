import Recovery

/// The keys of the previous phrase, before they are text or JSON.
struct RotationText: Equatable {
  /// By site.
  let entries: [RotationEntry]
  /// Identifies the previous phrase, 4 bytes.
  let fingerprint: [UInt8]
  /// Why keys can be missing; `nil` if the histories are whole.
  let historyFault: String?

  private var left: Int { entries.count { $0.state == .left } }

  /// For people; it ends with a command.
  var text: String {
    let rows = entries.map { [$0.site.map(\.printable) ?? "U2F", Self.key($0.key), Self.state($0.state)] }
    let list = entries.isEmpty ? [] : [table([["SITE", "KEY", "STATE"]] + rows)]
    let warning = historyFault.map { ["WARNING: \($0.printable): keys can be missing from this list"] } ?? []
    return (list + warning + [summary]).joined(separator: "\n\n")
  }

  private var summary: String {
    guard !entries.isEmpty else {
      return
        "no key of the old phrase \(fingerprint.hexadecimal) is known; remove the phrase with: liquid-auth rotate end"
    }
    guard left > 0 else {
      return "nothing is left of the old phrase \(fingerprint.hexadecimal); remove it with: liquid-auth rotate end"
    }
    let verb = left == 1 ? "is" : "are"
    return "\(left) of \(count(entries.count, "key")) of the old phrase \(fingerprint.hexadecimal) \(verb) left: "
      + "register again at each site, or give sites up with: liquid-auth rotate give-up"
  }

  private static func key(_ key: RotationEntry.Key) -> String {
    switch key {
    case .passkey(let name): name.map { "passkey of \($0.printable)" } ?? "passkey"
    case .others(let before, 0): count(before, "other key")
    case .others(let before, let since): "\(count(before, "other key")), \(since) registered since"
    }
  }

  private static func state(_ state: RotationEntry.State) -> String {
    switch state {
    case .left: "left"
    case .moved: "moved"
    case .givenUp: "given up"
    }
  }

  /// For programs.
  var json: JSON {
    [
      "previousFingerprint": .hex(fingerprint), "left": .number(Int64(left)), "historyFault": JSON(historyFault),
      "keys": .array(
        entries.map { entry -> JSON in
          let site = JSON.Member(name: "site", value: JSON(entry.site))
          let state = JSON.Member(name: "state", value: .string(Self.state(entry.state)))
          return switch entry.key {
          case .passkey(let name):
            .object([
              site, .init(name: "kind", value: .string("passkey")), .init(name: "name", value: JSON(name)), state,
            ])
          case .others(let before, let since):
            .object([
              site, .init(name: "kind", value: .string("other")), .init(name: "before", value: .number(Int64(before))),
              .init(name: "since", value: .number(Int64(since))), state,
            ])
          }
        }),
    ]
  }
}
