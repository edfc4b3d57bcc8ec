import ControlProtocol
import DisplayText
import Recovery

/// The text of the history.
enum HistoryText {
  /// The text for a site, or a history, without entries.
  static func none(of site: String?) -> String { site.map { "no entries of \($0.printable)" } ?? "no entries" }

  /// What stands in place of an entry that does not open.
  static let changed = "changed outside liquid-auth; see: liquid-auth log verify"

  /// Each entry, with the words of `--json`.
  ///
  /// - Parameter site: whose entries these are; `nil` for all entries.
  static func list(_ entries: [HistoryDescription], of site: String? = nil, isUTC: Bool) -> String {
    guard !entries.isEmpty else { return none(of: site) }
    return table(
      [["NUMBER", heading(ofTimes: isUTC), "KIND", "OUTCOME", "VERIFIED BY", "SITE"]]
        + entries.map { entry in
          guard let content = entry.content else {
            return [String(entry.number), changed]
          }
          return [
            String(entry.number), time(content.time, isUTC: isUTC), HistoryWords.kind(content.kind).name,
            HistoryWords.outcome(content.outcome).name, HistoryWords.verification(content.verification).name,
            Self.site(content),
          ]
        })
  }

  /// The site, and where the request came in, if that was not this machine.
  static func site(_ content: HistoryDescription.Content) -> String {
    let site = content.site?.printable ?? "-"
    return content.door == nil ? site : "\(site) (another computer, by QR code)"
  }

  /// The heading of the times; those in UTC say so themselves.
  static func heading(ofTimes isUTC: Bool) -> String { isUTC ? "TIME" : "LOCAL TIME" }

  static func whole(_ found: CheckHistory.Answer) -> String {
    guard let first = found.first, let last = found.last else { return "no entries; the history is intact" }
    let (from, to) = (UTCTime(milliseconds: first).text, UTCTime(milliseconds: last).text)
    return "\(found.count) \(found.count == 1 ? "entry" : "entries"), from \(from) to \(to); the history is intact"
  }

  /// What is wrong, then what to do.
  static func faults(_ found: CheckHistory.Answer, at place: PlaceOptions) -> String {
    """
    \(modified(found)); put a good copy of the store back, or accept this one: \
    run liquid-auth lock\(place.arguments), then liquid-auth recover --accept-store\(place.arguments)
    """
  }

  /// What is wrong, then how to see it again, for the list.
  static func warning(_ found: CheckHistory.Answer) -> String { "\(modified(found)); see: liquid-auth log verify" }

  private static func modified(_ found: CheckHistory.Answer) -> String {
    let more = found.faultCount > UInt64(shownFaults) ? ["and \(found.faultCount - UInt64(shownFaults)) more"] : []
    // They are texts of the authenticator, or of another program at its socket.
    let faults = (found.faults.prefix(shownFaults).map(\.printable) + more).joined(separator: ", ")
    return "the history was modified outside liquid-auth: \(faults)"
  }

  private static let shownFaults = 10
}

extension HistoryDescription {
  /// Whether the entry is of a site, which is given as the entry has it, or without `https://`; a domain also with capitals.
  func isOf(_ site: String) -> Bool {
    guard let own = content?.site else { return false }
    let names = [site, (try? RelyingPartyID.read(site)) ?? site].flatMap { [$0, "https://\($0)"] }
    return names.contains { own.utf8.elementsEqual($0.utf8) }
  }

  /// The entry for programs; one that does not open has only its number.
  var json: JSON {
    let number = JSON.Member(name: "number", value: .number(number))
    guard let content else { return .object([number, .init(name: "changed", value: .bool(true))]) }
    var members: [JSON.Member] = [
      number,
      .init(name: "time", value: .number(Int64(clamping: content.time))),
      .init(name: "kind", value: .string(HistoryWords.kind(content.kind).name)),
      .init(name: "outcome", value: .string(HistoryWords.outcome(content.outcome).name)),
      .init(name: "verification", value: .string(HistoryWords.verification(content.verification).name)),
      .init(name: "site", value: JSON(content.site)),
    ]
    if let door = content.door { members.append(.init(name: "door", value: .string(HistoryWords.door(door)))) }
    return .object(members)
  }
}

extension CheckHistory.Answer {
  /// The result for programs; times as Unix milliseconds.
  var json: JSON {
    [
      "entries": .number(Int64(clamping: count)), "first": first.map { .number(Int64(clamping: $0)) } ?? .null,
      "last": last.map { .number(Int64(clamping: $0)) } ?? .null,
    ]
  }
}
