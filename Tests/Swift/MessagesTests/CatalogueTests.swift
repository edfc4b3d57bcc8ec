import TestSupport
import Testing

@testable import Messages

@Suite struct CatalogueTests {
  static let header = "Content-Type: text/plain; charset=UTF-8\n\(Catalogue.pluralRule)\n"

  /// A compiled catalogue: the header and two tables, then ids and texts, each with a NUL at its end.
  static func file(header: String = header, isBigEndian: Bool = false, _ texts: [(String, String)]) -> [UInt8] {
    let number = { (number: Int) in
      let bytes = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
      return isBigEndian ? bytes.reversed() : bytes
    }
    let all = [("", header)] + texts
    var (ids, values, strings) = ([UInt8](), [UInt8](), [UInt8]())
    let first = 28 + 16 * all.count
    for (id, text) in all {
      ids += number(id.utf8.count) + number(first + strings.count)
      strings += Array(id.utf8) + [0]
      values += number(text.utf8.count) + number(first + strings.count)
      strings += Array(text.utf8) + [0]
    }
    let head = [0x9504_12DE, 0, all.count, 28, 28 + 8 * all.count, 0, 0].flatMap(number)
    return head + ids + values + strings
  }

  private static let texts = [
    ("Site: {1}", "Website: {1}"), ("{1} try left\0{1} tries left", "noch {1} Versuch\0noch {1} Versuche"),
    ("{1} of {2}", "{2}: {1}"), ("none", "nichts"),
  ]

  @Test(arguments: [true, false])
  func `texts are found, and their values are put where the language has them`(isBigEndian: Bool) throws {
    let catalogue = try Catalogue(mo: Self.file(isBigEndian: isBigEndian, Self.texts))
    #expect(catalogue.text(Message("Site: \("a.example")")) == "Website: a.example")
    #expect(catalogue.text(Message("\(Message("none")) of \("b")")) == "b: nichts")
    #expect(catalogue.text(Message("Something new")) == "Something new")
    let left = { (count: Int) in
      catalogue.text(Message("\(count) try left", plural: "\(count) tries left", count: count))
    }
    #expect((0...2).map(left) == ["noch 0 Versuche", "noch 1 Versuch", "noch 2 Versuche"])
    #expect(catalogue.text(Message("\(3) try left")) == "3 try left", "an entry with a plural is another message")
    #expect(catalogue.texts([Message("none"), Message("x")]) == ["nichts", "x"])
  }

  @Test func `gettext's own files are read, of either byte order, with and without its hash table`() throws {
    let german = try Catalogue.german()
    #expect(german != .english)
    #expect(german.text(Message("Site: \("a.example")")) == "Website: a.example")
    for options in ["--endianness=big", "--endianness=little", "--no-hash"] {
      #expect(try Catalogue(mo: Catalogue.compiled("Locale/de.po", options)) == german)
    }
  }

  /// A file with some bytes replaced.
  private static func with(_ bytes: [UInt8], at offset: Int, _ texts: [(String, String)] = texts) -> [UInt8] {
    var file = file(texts)
    file.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    return file
  }

  private static let cut = "it is cut off, or damaged"
  private static let noCatalogue = "it is not a compiled catalogue of gettext"
  private static let values = "a text does not have the values of its id: "
  private static let control = "a text is empty or has control characters: "

  // Holds: LANGUAGE-3
  @Test(
    arguments: [
      ([], noCatalogue), (Array("#!/bin/sh\n".utf8), noCatalogue), ([0xDE, 0x12, 0x04], noCatalogue),
      (Array(file(texts).prefix(4)), cut), (Array(file(texts).prefix(20)), cut),
      (Array(file(texts).dropLast()), cut), (with([0, 0, 1, 0], at: 4), "its format is too new"),
      // The number of texts, the offset of either table, and the length and offset of a text.
      (with([0xFF, 0xFF, 0xFF, 0xFF], at: 8), cut), (with([6], at: 8), cut),
      (with([0xFF, 0xFF, 0xFF, 0x7F], at: 12), cut), (with([0xFF, 0xFF, 0xFF, 0xFF], at: 16), cut),
      (with([0xFF, 0xFF, 0xFF, 0xFF], at: 36), cut), (with([0xFF, 0xFF, 0xFF, 0xFF], at: 40), cut),
      (with([8], at: 36), cut),
      (file([("none", "")]), control + "none"), (file([("none", "a\nb")]), control + "none"),
      (file([("none", "a\u{1B}[2J")]), control + "none"), (file([("none", "a\u{85}")]), control + "none"),
      (file([("none", "a\u{2028}b")]), control + "none"), (file([("none", "a\u{2029}b")]), control + "none"),
      (file([("Site: {1}", "Website")]), values + "Site: {1}"),
      (file([("Site: {1}", "Website: {2}")]), values + "Site: {1}"),
      (file([("Site: {1}", "Website: {1} {1}")]), values + "Site: {1}"),
      (file([("Site: {1}", "Website: { 1}")]), values + "Site: {1}"),
      (file([("none", "{1}")]), values + "none"),
      (file([("{1} try\0{1} tries", "ein Versuch\0{1} Versuche")]), values + "{1} try"),
      (file([("none", "nichts\0viele")]), "a text has too many or too few forms"),
      (file([("{1} try\0{1} tries", "{1} Versuch")]), "a text has too many or too few forms"),
      (file([("a\0b\0c", "a\0b\0c")]), "a text has too many or too few forms"),
      (file([("none", "nichts"), ("none", "keine")]), "an id comes twice: none"),
      (file(header: "Content-Type: text/plain; charset=ISO-8859-1\n", texts), "its character set is not UTF-8"),
      (file(header: "\(Catalogue.pluralRule)\n", texts), "its character set is not UTF-8"),
      (
        file(header: "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=1; plural=0;\n", texts),
        "its rule for plurals is not known"
      ),
    ] as [([UInt8], String)])
  func `a file that is no catalogue, or changes what a dialog shows, is refused whole`(file: [UInt8], words: String) {
    #expect(throws: CatalogueFault(words)) { try Catalogue(mo: file) }
  }

  @Test func `a text that is not UTF-8 is refused`() throws {
    var file = Self.file([("none", "nichts")])
    let place = try #require(file.indices.last { file[$0] == UInt8(ascii: "n") })
    file[place] = 0xFF
    #expect(throws: CatalogueFault("a text is not UTF-8")) { try Catalogue(mo: file) }
  }

  @Test func `no file of any length that begins like a catalogue does anything but fail`() {
    let file = Self.file(Self.texts)
    for count in 0..<file.count {
      #expect(throws: CatalogueFault.self) { try Catalogue(mo: Array(file.prefix(count))) }
    }
  }
}
