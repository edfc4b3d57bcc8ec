/// A text for a dialog: an English sentence, which is its id in catalogues of gettext, and the values in the sentence.
///
/// `Message("Site: \(site)")` has the id `Site: {1}`. The text must be a literal, so that `scripts/messages` finds it.
public struct Message: Hashable, Sendable {
  /// The English text with `{1}`, `{2}` and so on for the values.
  let id: String
  /// The English text for counts other than 1, and the count; `nil` for a text without a count.
  let plural: Plural?
  let values: [Value]

  struct Plural: Hashable, Sendable {
    let id: String
    let count: UInt128
  }

  enum Value: Hashable, Sendable {
    case text(String)
    case message(Message)
  }

  /// A text whose form does not depend on a count.
  public init(_ text: Text) { self.init(id: text.id, plural: nil, values: text.values) }

  /// A text whose form depends on a count: `one` for 1, `plural` for other counts; both have the same values.
  public init(_ one: Text, plural: Text, count: some BinaryInteger) {
    self.init(id: one.id, plural: Plural(id: plural.id, count: UInt128(clamping: count)), values: plural.values)
  }

  /// A text that is the same in every language, such as an address.
  public init(verbatim text: String) { self.init(id: Self.value(1), plural: nil, values: [.text(text)]) }

  fileprivate init(_ parts: some Sequence<Message>, _ separator: String) {
    let values = parts.map { Value.message($0) }
    let id = values.indices.map { Self.value($0 + 1) }.joined(separator: separator)
    self.init(id: id, plural: nil, values: values)
  }

  private init(id: String, plural: Plural?, values: [Value]) {
    (self.id, self.plural, self.values) = (id, plural, values)
  }

  /// The place of a value in a text; `number` counts from 1.
  static func value(_ number: Int) -> String { "{\(number)}" }

  /// A string literal, with or without interpolated values.
  public struct Text: ExpressibleByStringInterpolation {
    let id: String
    let values: [Value]

    /// A literal without values.
    public init(stringLiteral text: String) { (id, values) = (text, []) }

    /// A literal with values.
    public init(stringInterpolation text: Interpolation) { (id, values) = (text.id, text.values) }

    /// Collects the parts of a literal.
    public struct Interpolation: StringInterpolationProtocol {
      var id = ""
      var values: [Value] = []

      public init(literalCapacity: Int, interpolationCount: Int) {}

      public mutating func appendLiteral(_ text: String) { id += text }

      /// A value that is shown as it is.
      public mutating func appendInterpolation(_ text: String) { append(.text(text)) }

      /// A number in decimal.
      public mutating func appendInterpolation(_ number: some BinaryInteger) { append(.text("\(number)")) }

      /// A value that the catalogue translates.
      public mutating func appendInterpolation(_ message: Message) { append(.message(message)) }

      private mutating func append(_ value: Value) {
        values.append(value)
        id += Message.value(values.count)
      }
    }
  }
}

extension Message: CustomStringConvertible {
  /// The English text.
  public var description: String { Catalogue.english.text(self) }
}

extension Sequence<Message> {
  /// One message with all of these, in this order; the separator is the same in every language.
  public func joined(by separator: String) -> Message { Message(self, separator) }
}
