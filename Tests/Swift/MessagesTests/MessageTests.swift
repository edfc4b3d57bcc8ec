import Testing

@testable import Messages

@Suite struct MessageTests {
  @Test func `a message has its literal as its id, and numbers for the values`() {
    let message = Message("Slot \(2) of \("a{1}") (\(Message("none")))")
    #expect(message.id == "Slot {1} of {2} ({3})")
    #expect(message.description == "Slot 2 of a{1} (none)", "a value is not read as a text")
  }

  @Test(arguments: [(0, "0 tries left"), (1, "1 try left"), (2, "2 tries left")])
  func `a count chooses the form`(count: Int, text: String) {
    #expect(Message("\(count) try left", plural: "\(count) tries left", count: count).description == text)
  }

  @Test func `the largest count is no number one`() {
    let sum = UInt128.max
    #expect(Message("\(sum) unit", plural: "\(sum) units", count: sum).description.hasSuffix(" units"))
    #expect(Message("\(-1) unit", plural: "\(-1) units", count: -1).description == "-1 units")
  }

  @Test func `a verbatim text is not translated`() throws {
    let catalogue = try Catalogue(mo: CatalogueTests.file([("none", "nichts"), ("{1}", "[{1}]")]))
    #expect(catalogue.text(Message(verbatim: "none")) == "[none]", "only the bare value is an id of its own")
    #expect(Message(verbatim: "{1} {2}").description == "{1} {2}")
  }

  @Test func `joined messages are translated one by one`() throws {
    let catalogue = try Catalogue(mo: CatalogueTests.file([("none", "nichts")]))
    let joined = [Message("none"), Message(verbatim: "none")].joined(by: ", ")
    #expect(catalogue.text(joined) == "nichts, none")
    #expect(catalogue.text([Message]().joined(by: ", ")) == "")
  }
}
