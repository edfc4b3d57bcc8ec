/// Lines of text, for people.
enum EventText {
  /// `   123 ms  sentence`, with continuation lines below the sentence.
  static func line(_ text: String, milliseconds: Int64) -> String {
    let digits = String(milliseconds)
    let head = String(repeating: " ", count: max(0, 7 - digits.count)) + digits + " ms  "
    let indentation = String(repeating: " ", count: head.count)
    return head + text.split(separator: "\n").joined(separator: "\n" + indentation)
  }
}
