import EventLoopTests
import TestSupport
import Testing

@testable import liquid_authenticator

struct LogLimitTests {
  private let clock = ManualClock()
  private let lines = Lines()
  private let limit: LogLimit

  init() { limit = LogLimit(of: "the subject", lines: 10, clock: clock, output: lines.add) }

  // Holds: CONTROL-3
  @Test func `ten lines a minute are written, and the others counted`() {
    for number in 1...9 { limit.write("\(number)") }
    #expect(lines.all == (1...9).map(String.init))
    limit.write("10")
    let told = "the subject: further lines of this minute are counted but not written"
    #expect(lines.all == (1...10).map(String.init) + [told])
    for _ in 0..<100_000 { limit.write("flood") }
    clock.advance(by: .milliseconds(59_999))
    limit.write("flood")
    #expect(lines.all.count == 11)
    clock.advance(by: .milliseconds(1))
    limit.write("next")
    #expect(lines.all.suffix(2) == ["the subject: 100001 further lines were suppressed", "next"])
  }

  @Test func `slow lines are all written, and nothing else`() {
    for number in 0..<100 {
      limit.write("\(number)")
      clock.advance(by: .seconds(7))
    }
    #expect(lines.all == (0..<100).map(String.init))
  }

  @Test func `each subject has its own number of lines`() {
    let limit = LogLimit(of: "refused requests", lines: 1000, clock: clock, output: lines.add)
    for number in 0..<1001 { limit.write("\(number)") }
    #expect(lines.all.count == 1001)
    #expect(lines.all.last == "refused requests: further lines of this minute are counted but not written")
  }

  @Test func `exactly ten lines are not reported as suppressed`() {
    for _ in 0..<10 { limit.write("a") }
    clock.advance(by: .seconds(60))
    limit.write("b")
    #expect(lines.all.count == 12)
    #expect(lines.all.last == "b")
  }
}
