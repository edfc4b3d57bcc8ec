@testable import Messages

/// The texts of dialogs in one language.
enum CatalogueTarget {
  static let all: [Target] = [
    Target(
      "catalogue", of: "a compiled catalogue of GNU gettext", atMost: 1024,
      words: [
        "{1}", "{2}", "{ 1}", "{+1}", "\u{0}", "\u{85}", "\u{301}", "\u{2028}",
        "Content-Type: text/plain; charset=UTF-8\n",
      ],
      seeds: { [file(texts, isBigEndian: false), file(texts, isBigEndian: true), file([], isBigEndian: false)] },
      read: read)
  ]

  private static let texts = [
    ("Site: {1}", "Website: {1}"), ("{1} of {2}", "{2}: {1}"), ("none", "nichts"),
    ("{1} try left\0{1} tries left", "noch {1} Versuch\0noch {1} Versuche"),
  ]
  /// Shown as they are, and not read again for places.
  private static let (value, other) = ("a.example", "{1}{2}")

  /// Whatever the file has, a dialog shows each value of its texts, and on one line.
  private static func read(_ input: [UInt8]) throws {
    guard let catalogue = try? Catalogue(mo: input) else { return }
    expect(try Catalogue(mo: input + [0]) == catalogue, "bytes behind the texts matter")
    let shown: [(text: String, values: [String])] = [
      (catalogue.text(Message("Site: \(value)")), [value]),
      (catalogue.text(Message("\(other) of \(value)")), [other, value]),
      (catalogue.text(Message("\(Message("Site: \(value)")) of \(Message("none"))")), [value]),
      (catalogue.text(Message("none")), []),
    ]
    let counts = (0...2).map { count in
      let message = Message("\(count) try left", plural: "\(count) tries left", count: count)
      return (text: catalogue.text(message), values: ["\(count)"])
    }
    for (text, values) in shown + counts {
      expect(!text.isEmpty, "an empty text")
      let lineEnds: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]
      expect(!text.unicodeScalars.contains { lineEnds.contains($0.properties.generalCategory) }, "lines: \(text)")
      for value in values { expect(occurs(value, in: text), "a text without \(value): \(text)") }
    }
    let both = catalogue.texts([Message("\(other) of \(value)"), Message("none")])
    expect(both == [shown[1].text, shown[3].text], "another text among several")
  }

  private static func occurs(_ part: String, in text: String) -> Bool {
    let (part, text) = (Array(part.utf8), Array(text.utf8))
    return text.indices.contains { text[$0...].starts(with: part) }
  }

  /// A file: the head, two tables, and the ids and texts, each with a NUL at its end.
  private static func file(_ texts: [(String, String)], isBigEndian: Bool) -> [UInt8] {
    let header = "Content-Type: text/plain; charset=UTF-8\n\(Catalogue.pluralRule)\n"
    let all = [("", header)] + texts
    var (ids, values, strings) = ([UInt8](), [UInt8](), [UInt8]())
    func number(_ number: Int) -> [UInt8] {
      let bytes = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
      return isBigEndian ? bytes.reversed() : bytes
    }
    func add(_ text: String, to table: inout [UInt8]) {
      table += number(text.utf8.count) + number(28 + 16 * all.count + strings.count)
      strings += Array(text.utf8) + [0]
    }
    for (id, text) in all {
      add(id, to: &ids)
      add(text, to: &values)
    }
    return [0x9504_12DE, 0, all.count, 28, 28 + 8 * all.count, 0, 0].flatMap(number) + ids + values + strings
  }
}
