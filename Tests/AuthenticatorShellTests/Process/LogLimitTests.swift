import Testing

@testable import liquid_authenticator

struct LogLimitTests {
  private let timepiece = ManualTimepiece()
  private let lines = Lines()
  private let limit: LogLimit

  init() { limit = LogLimit(of: "the door", timepiece: timepiece, output: lines.add) }

  // Holds: CONTROL-3
  @Test func `ten lines a minute are written, and the others counted`() {
    for number in 1...9 { limit.write("\(number)") }
    #expect(lines.all == (1...9).map(String.init))
    limit.write("10")
    let told = "the door: further lines of this minute are counted but not written"
    #expect(lines.all == (1...10).map(String.init) + [told])
    for _ in 0..<100_000 { limit.write("flood") }
    timepiece.advance(by: .milliseconds(59_999))
    limit.write("flood")
    #expect(lines.all.count == 11)
    timepiece.advance(by: .milliseconds(1))
    limit.write("next")
    #expect(lines.all.suffix(2) == ["the door: 100001 further lines were suppressed", "next"])
  }

  @Test func `slow lines are all written, and nothing else`() {
    for number in 0..<100 {
      limit.write("\(number)")
      timepiece.advance(by: .seconds(7))
    }
    #expect(lines.all == (0..<100).map(String.init))
  }

  @Test func `exactly ten lines are not reported as suppressed`() {
    for _ in 0..<10 { limit.write("a") }
    timepiece.advance(by: .seconds(60))
    limit.write("b")
    #expect(lines.all.count == 12)
    #expect(lines.all.last == "b")
  }
}
