public import Messages

/// One line that a prompt shows of a transaction.
///
/// Labels are fixed. In a value, all text that the transaction's author chose is quoted, so a value cannot look like
/// another line or end one. A `Catalogue` translates labels and values.
public struct SummaryLine: Hashable, Sendable {
  /// What the line is about.
  public let label: Message
  /// The value: in English, visible ASCII, except for letters in quotation marks.
  public let value: Message
  /// The value with the length, the beginning and the SHA-256 of a field in place of the field; `nil` for a value of at
  /// most eight lines of a dialog.
  public let short: Message?
  /// Whether this may cost more than it seems, cannot be undone, or is refused by the network.
  public let isWarning: Bool
  /// Whether the value is the sender's address alone.
  public let isSender: Bool

  /// The most columns of a value that is shown whole: eight lines of a dialog.
  static let longestValue = 8 * 73

  /// - Parameter short: the value in short, for one that is longer than ``longestValue``.
  init(
    _ label: Message, _ value: Message, short: @autoclosure () -> Message? = nil, isWarning: Bool = false,
    isSender: Bool = false
  ) {
    self.label = label
    self.value = value
    // Characters of two columns begin at U+1100.
    let columns = value.description.unicodeScalars.reduce(0) { $0 + ($1.value < 0x1100 ? 1 : 2) }
    self.short = columns > Self.longestValue ? short() : nil
    self.isWarning = isWarning
    self.isSender = isSender
  }

  /// A line whose value is the same in every language.
  init(_ label: Message, verbatim value: String, isWarning: Bool = false, isSender: Bool = false) {
    self.init(label, Message(verbatim: value), isWarning: isWarning, isSender: isSender)
  }
}
