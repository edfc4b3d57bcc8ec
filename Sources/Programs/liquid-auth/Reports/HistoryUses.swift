import ControlProtocol
import DisplayText
import Glibc
import Recovery

/// The history in plain words: one row for each use or change.
struct HistoryUses {
  private var rows: [[String]] = []
  /// The verification whose token the next entries used: the number of its row until one of them has joined it, its site,
  /// and what verified.
  private var verified: (row: Int?, site: String?, means: String)?

  /// - Parameter isUTC: whether times are in UTC; otherwise they are those of this machine's clock.
  static func text(_ entries: [HistoryDescription], of site: String? = nil, isUTC: Bool) -> String {
    guard !entries.isEmpty else { return HistoryText.none(of: site) }
    var uses = HistoryUses()
    for entry in entries { uses.add(entry, isUTC: isUTC) }
    return table([[HistoryText.heading(ofTimes: isUTC), "USE", "VERIFIED BY", "SITE"]] + uses.rows)
  }

  private mutating func add(_ entry: HistoryDescription, isUTC: Bool) {
    guard let content = entry.content else {
      rows.append(["-", HistoryText.changed])
      return
    }
    let kind = HistoryEntry.Kind(rawValue: content.kind)
    let isDone = HistoryEntry.Outcome(rawValue: content.outcome) == .done
    // Another account of the sign-in before it.
    guard kind != .nextSignIn || !isDone else { return }
    var means = HistoryWords.verification(content.verification).text
    if HistoryEntry.Verification(rawValue: content.verification) == .token, let verified,
      verified.site == nil || verified.site == content.site
    {
      means = verified.means
      if let row = verified.row { rows.remove(at: row) }
      self.verified?.row = nil
    }
    if kind == .verify, isDone { verified = (rows.count, content.site, means) }
    rows.append([
      HistoryText.time(content.time, isUTC: isUTC), Self.use(content), means, HistoryText.site(content),
    ])
  }

  private static func use(_ content: HistoryDescription.Content) -> String {
    let end = HistoryWords.outcome(content.outcome).text
    return HistoryWords.kind(content.kind).text + (end.isEmpty ? "" : ": \(end)")
  }
}

extension HistoryText {
  /// A time in UTC, or as the clock of this machine shows it.
  static func time(_ milliseconds: UInt64, isUTC: Bool) -> String {
    let utc = UTCTime(milliseconds: milliseconds).text
    var (seconds, local) = (time_t(clamping: milliseconds / 1000), tm())
    guard !isUTC, localtime_r(&seconds, &local) != nil else { return utc }
    func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(Int(local.tm_year) + 1900)-\(digits(local.tm_mon + 1))-\(digits(local.tm_mday)) "
      + [local.tm_hour, local.tm_min, local.tm_sec].map(digits).joined(separator: ":")
  }
}
