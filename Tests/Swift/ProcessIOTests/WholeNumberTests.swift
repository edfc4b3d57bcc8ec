import Testing

@testable import ProcessIO

@Suite struct WholeNumberTests {
  @Test func `a number of the range is read`() throws {
    for (text, number) in [("1", 1), ("32", 32), ("+7", 7), ("007", 7)] as [(String, UInt8)] {
      #expect(try wholeNumber(1...UInt8(32))(text) == number)
    }
  }

  @Test(arguments: ["", "0", "33", "256", "-1", "1.0", "0x1", " 1", "one"])
  func `for any other text, the error gives the range`(_ text: String) {
    let error = #expect(throws: (any Error).self) { try wholeNumber(1...UInt8(32))(text) }
    #expect(error.map { String(describing: $0) } == "give a whole number, 1 to 32")
  }
}
