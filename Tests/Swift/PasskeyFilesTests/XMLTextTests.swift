import Testing

@testable import PasskeyFiles

/// The subset of XML that is read.
@Suite struct XMLTextTests {
  private func events(_ text: String) throws(PasskeyFileError) -> [String] {
    let xml = try XMLText(Array(text.utf8))
    var events: [String] = []
    while let event = try xml.next() {
      switch event {
      case .start(let name, let attributes):
        events.append("<\(name)\(attributes.map { " \($0.name)=\($0.value)" }.joined())>")
      case .end(let name): events.append("</\(name)>")
      case .text(let range): events.append(String(decoding: try xml.content(range), as: UTF8.self))
      }
    }
    return events
  }

  @Test func `elements, attributes, text and the predefined entities are read`() throws {
    #expect(
      try events(
        "\u{FEFF}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- c --><a b='1' c = \"x>y\"><d/>é&lt;&#10;&#x1F600;&amp;amp;&gt;&quot;&apos;<!-- - --></a >\n"
      )
        == ["<a b=1 c=x>y>", "<d>", "</d>", "é<\n😀&amp;>\"'", "</a>"])
    #expect(try events("<a></a>") == ["<a>", "</a>"])
  }

  // Holds: IMPORT-3
  @Test(arguments: [
    "", "x", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>x", "<a", "<a b>", "<a b=1/>", "<a b='1'", "<a b='1'c='2'/>",
    "<a b='<'/>", "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "<a><!DOCTYPE b></a>", "<a>&x;</a>", "<a>&#0;</a>",
    "<a>&#xD800;</a>", "<a>&#+65;</a>", "<a>&amp</a>", "<a>&</a>", "<a><![CDATA[x]]></a>", "<a><?php x?></a>",
    "<a><!-- </a>", "<?xml version='1.0'", "< a/>", "<1!/>", "<é/>", "<a><b></a></b>", "<a>&#1114112;</a>",
  ])
  func `everything else is refused`(text: String) { #expect(throws: PasskeyFileError.self) { try events(text) } }

  // Holds: IMPORT-3
  @Test func `a document type is refused as such`() {
    #expect(
      throws: PasskeyFileError(
        "it is not XML as KeePassXC writes it: a document type, which is not supported, at byte 0")
    ) { try events("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>") }
  }

  // Holds: IMPORT-3
  @Test func `64 levels are read, and 65 are refused`() throws {
    let levels = { (count: Int) in
      String(repeating: "<a>", count: count) + String(repeating: "</a>", count: count)
    }
    #expect(try events(levels(64)).count == 128)
    #expect(throws: PasskeyFileError("its elements are nested more than 64 levels deep")) { try events(levels(65)) }
  }

  // Holds: IMPORT-3
  @Test func `any number of comments and line ends can surround the outermost element`() throws {
    let many = String(repeating: "<!---->\n", count: 100_000)
    #expect(try events(many + "<a/>" + many) == ["<a>", "</a>"])
    #expect(throws: PasskeyFileError.self) { try events(many) }
  }

  // Holds: IMPORT-3
  @Test func `an element has at most 16 attributes, and a name 64 bytes`() throws {
    let attributes = { (count: Int) in "<a" + String(repeating: " b='1'", count: count) + "/>" }
    #expect(try events(attributes(16)).count == 2)
    #expect(throws: PasskeyFileError.self) { try events(attributes(17)) }
    #expect(try events("<\(String(repeating: "a", count: 64))/>").count == 2)
    #expect(throws: PasskeyFileError.self) { try events("<\(String(repeating: "a", count: 65))/>") }
  }
}
