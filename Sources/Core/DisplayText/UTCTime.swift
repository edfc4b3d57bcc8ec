/// A time as people read it, in UTC: the local time zone would need tables that these programs do not have.
public struct UTCTime {
  private let seconds: Int64

  /// Takes Unix milliseconds.
  public init(milliseconds: UInt64) { seconds = Int64(clamping: milliseconds / 1000) }

  /// `2026-11-21`.
  public var date: String {
    let (year, month, day) = civil
    return "\(year)-\(Self.twoDigits(month))-\(Self.twoDigits(day))"
  }

  /// `2026-11-21 01:02:03 UTC`.
  public var text: String {
    let second = seconds % 86_400
    return
      "\(date) \(Self.twoDigits(second / 3600)):\(Self.twoDigits(second / 60 % 60)):\(Self.twoDigits(second % 60)) UTC"
  }

  private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// The Gregorian date of the day, counted in eras of 400 years from 1 March 0000, so that leap days come last.
  private var civil: (year: Int64, month: Int64, day: Int64) {
    let days = seconds / 86_400 + 719_468
    let era = days / 146_097
    let dayOfEra = days % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }
}
