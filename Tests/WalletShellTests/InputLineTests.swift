import CLinux
import Glibc
import Testing

@testable import liquid_auth_wallet

struct InputLineTests {
  /// What is read where these bytes were written, and the pipe closed behind them.
  private func lines(of text: String, _ count: Int) throws -> [String?] {
    var ends: [Int32] = [-1, -1]
    try #require(clinux_pipe(&ends) == 0)
    defer { close(ends[0]) }
    try #require(write(ends[1], text, text.utf8.count) == text.utf8.count)
    close(ends[1])
    let input = try #require(InputLine(from: ends[0]))
    defer { input.close() }
    return (0..<count).map { _ in input.read() }
  }

  @Test func `lines are read one by one, the last also without its end`() throws {
    #expect(try lines(of: "one\n\ntwo", 4) == ["one", "", "two", nil])
    #expect(try lines(of: "", 1) == [nil])
  }

  @Test func `a line that is too long is none`() throws {
    #expect(try lines(of: String(repeating: "x", count: 4096), 1) == [nil])
  }

  @Test func `a wait is given up from another thread`() async throws {
    var ends: [Int32] = [-1, -1]
    try #require(clinux_pipe(&ends) == 0)
    defer { ends.forEach { close($0) } }
    let input = try #require(InputLine(from: ends[0]))
    defer { input.close() }
    let waiting = Task.detached { input.read() }
    input.giveUp()
    #expect(await waiting.value == nil)
  }
}
