import ControlProtocol
import Glibc
import StateDirectory
import TestSupport
import Testing

@testable import liquid_authenticator

struct LogTests {
  @Test(arguments: [
    ("example.com", "example.com"), ("a\nb\u{1B}[2J", "a\\u{A}b\\u{1B}[2J"), ("\u{202E}gpj", "\\u{202E}gpj"),
    ("müller", "müller"),
  ])
  func `a line of the log stays one line and moves no cursor`(text: String, shown: String) {
    #expect(Log.printable(text) == shown)
  }

  @Test func `journal lines begin with the level, terminal lines with the program's name`() {
    let lines = Lines()
    let journal = Log(isJournal: true, output: lines.add)
    journal.info("one")
    journal.notice("two")
    journal.warning("three")
    journal.error("four")
    Log(isJournal: false, output: lines.add).error("five\n")
    journal.request("six")
    Log(isJournal: true, level: .debug, output: lines.add).request("seven")
    #expect(
      lines.all == [
        "<6>one\n", "<5>two\n", "<4>three\n", "<3>four\n", "liquid-authenticator: five\\u{A}\n", "<6>six\n",
        "<7>seven\n",
      ])
  }

  @Test func `the command that ends a problem gets the place options`() {
    let lines = Lines()
    let place = CommandPlace(stateDirectory: "/s", control: nil)
    let log = Log(isJournal: false, place: place, output: lines.add)
    let problem = Problem("it is missing", hint: "make one", with: ["liquid-auth", "setup"])
    log.error(problem)
    log.warning(problem)
    log.warning(problem.text)
    let own = "liquid-authenticator: it is missing; make one with: liquid-auth setup"
    #expect(lines.all == ["\(own) --state-dir /s\n", "\(own) --state-dir /s\n", "\(own)\n"])
  }

  @Test func `a line of the log is cut at 1000 characters`() {
    #expect(Log.printable(String(repeating: "x", count: 100_000)).count == 1000)
  }

  @Test func `a line of escapes fits into a pipe's atomic write`() {
    let lines = Lines()
    Log(isJournal: false, output: lines.add).info(String(repeating: "\u{E0001}", count: 100_000))
    // Each escape has 9 bytes; none is cut.
    #expect(lines.all == ["liquid-authenticator: " + String(repeating: "\\u{E0001}", count: 448) + "\n"])
    #expect(lines.all[0].utf8.count <= PIPE_BUF)
    #expect(Log.printable(String(repeating: "\u{10FFFF}", count: 1000)).utf8.count == 403 * 10)
    #expect(Log.printable(String(repeating: "\u{1F600}", count: 1010)).unicodeScalars.count == 1000)
  }
}
