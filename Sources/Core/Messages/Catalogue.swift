/// The texts of dialogs in one language: a compiled catalogue of GNU gettext, or English, which needs none.
///
/// The functions of gettext are not used. They need a locale that is installed on the machine, and setlocale(3) would
/// also translate the system's errors in the log.
public struct Catalogue: Equatable, Sendable {
  /// The texts as they are in the code.
  public static let english = Catalogue(texts: [:])
  /// The only supported rule for plurals: one form for 1, the other for all other counts.
  static let pluralRule = "Plural-Forms: nplurals=2; plural=(n != 1);"

  /// By the id of the message: its text, or its form for 1 and its form for other counts.
  private var texts: [String: [String]]

  private init(texts: [String: [String]]) { self.texts = texts }

  /// The text of a message; the English one if the catalogue does not have it.
  public func text(_ message: Message) -> String {
    let isPlural = message.plural.map { $0.count != 1 } ?? false
    let known = texts[message.id].flatMap { $0.count == (message.plural == nil ? 1 : 2) ? $0 : nil }
    let text = known?[isPlural ? 1 : 0] ?? (isPlural ? message.plural?.id : nil) ?? message.id
    var result = ""
    var rest = text[...]
    while let place = Self.firstPlace(in: rest), place.number <= message.values.count {
      result += rest[..<place.range.lowerBound]
      switch message.values[place.number - 1] {
      case .text(let text): result += text
      case .message(let message): result += self.text(message)
      }
      rest = rest[place.range.upperBound...]
    }
    return result + rest
  }

  /// The texts of several messages, in the same order.
  public func texts(_ messages: [Message]) -> [String] { messages.map(text) }

  /// The first place for a value, such as `{1}`; `nil` if there is none.
  private static func firstPlace(in text: Substring) -> (range: Range<String.Index>, number: Int)? {
    guard let start = text.firstIndex(of: "{"), let end = text[start...].firstIndex(of: "}"),
      let number = Int(text[text.index(after: start)..<end]), number > 0
    else { return nil }
    return (start..<text.index(after: end), number)
  }
}

// MARK: - The compiled file

/// Why a file is not a catalogue: lower case, no full stop.
public struct CatalogueFault: Error, Equatable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

extension Catalogue {
  /// Reads a compiled catalogue (GNU gettext manual, "The Format of GNU MO Files"), in UTF-8.
  ///
  /// Each translation must have the values of its id, so that no catalogue leaves out a site. It must have no control
  /// characters and no separators of lines or paragraphs, so that it stays one line.
  ///
  /// - Throws: if the file is not a catalogue or is damaged, or if a translation breaks these rules.
  public init(mo bytes: [UInt8]) throws(CatalogueFault) {
    let file = try File(bytes)
    var texts: [String: [String]] = [:]
    for number in 0..<file.count {
      let (id, text) = (try file.strings(file.ids, number), try file.strings(file.texts, number))
      if id == [""] {
        let header = text[0].split(separator: "\n")
        guard header.contains("Content-Type: text/plain; charset=UTF-8") else {
          throw CatalogueFault("its character set is not UTF-8")
        }
        guard header.contains(Substring(Self.pluralRule)) else {
          throw CatalogueFault("its rule for plurals is not known")
        }
        continue
      }
      guard id.count == text.count, id.count <= 2 else { throw CatalogueFault("a text has too many or too few forms") }
      for form in text {
        guard !form.isEmpty, !form.unicodeScalars.contains(where: Self.isControl) else {
          throw CatalogueFault("a text is empty or has control characters: \(id[0])")
        }
        guard id.allSatisfy({ Self.places(in: $0) == Self.places(in: form) }) else {
          throw CatalogueFault("a text does not have the values of its id: \(id[0])")
        }
      }
      guard texts.updateValue(text, forKey: id[0]) == nil else { throw CatalogueFault("an id comes twice: \(id[0])") }
    }
    self.init(texts: texts)
  }

  /// Whether a character is a control, or ends a line where dialogs are drawn (UAX #14, class BK).
  private static func isControl(_ character: Unicode.Scalar) -> Bool {
    [.control, .lineSeparator, .paragraphSeparator].contains(character.properties.generalCategory)
  }

  /// The numbers of the places for values in a text, in ascending order.
  private static func places(in text: String) -> [Int] {
    var numbers: [Int] = []
    var rest = text[...]
    while let place = firstPlace(in: rest) {
      numbers.append(place.number)
      rest = rest[place.range.upperBound...]
    }
    return numbers.sorted()
  }

  /// The file with its two tables, of ids and of texts.
  private struct File {
    let bytes: [UInt8]
    let isBigEndian: Bool
    private(set) var count = 0
    /// The offsets of the two tables, in bytes.
    private(set) var ids = 0
    private(set) var texts = 0

    init(_ bytes: [UInt8]) throws(CatalogueFault) {
      self.bytes = bytes
      switch bytes.prefix(4) {
      case [0xDE, 0x12, 0x04, 0x95]: isBigEndian = false
      case [0x95, 0x04, 0x12, 0xDE]: isBigEndian = true
      default: throw CatalogueFault("it is not a compiled catalogue of gettext")
      }
      guard try number(at: 4) >> 16 == 0 else { throw CatalogueFault("its format is too new") }
      (count, ids, texts) = (try number(at: 8), try number(at: 12), try number(at: 16))
      // Each entry of the tables has eight bytes.
      guard count <= bytes.count / 8 else { throw Self.cut }
    }

    private static let cut = CatalogueFault("it is cut off, or damaged")

    /// The unsigned number of 32 bits at this offset.
    private func number(at offset: Int) throws(CatalogueFault) -> Int {
      guard offset <= bytes.count - 4 else { throw Self.cut }
      let four = bytes[offset..<offset + 4]
      return (isBigEndian ? Array(four) : four.reversed()).reduce(0) { $0 << 8 | Int($1) }
    }

    /// The strings of one entry of a table, which NUL bytes separate.
    func strings(_ table: Int, _ index: Int) throws(CatalogueFault) -> [String] {
      let (length, start) = (try number(at: table + 8 * index), try number(at: table + 8 * index + 4))
      guard start + length < bytes.count, bytes[start + length] == 0 else { throw Self.cut }
      guard let text = String(validating: bytes[start..<start + length], as: UTF8.self) else {
        throw CatalogueFault("a text is not UTF-8")
      }
      return text.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
    }
  }
}
