import CLinux
import Glibc
import ProcessIO
import TestVectors
import Testing

@testable import liquid_auth_wallet

struct InputLineTests {
  /// The lines read from a closed pipe with this text.
  private func lines(of text: String, _ count: Int) throws -> [String?] {
    let ends = try Descriptor.pipe()
    defer { close(ends.read) }
    try #require(Descriptor.write(text.utf8, to: ends.write))
    close(ends.write)
    return (0..<count).map { _ in InputLine.read(from: ends.read) }
  }

  @Test func `lines are read one by one, the last also without a line feed`() throws {
    #expect(try lines(of: "one\n\ntwo", 4) == ["one", "", "two", nil])
    #expect(try lines(of: "", 1) == [nil])
  }

  @Test func `a line that is too long is refused`() throws {
    #expect(try lines(of: String(repeating: "x", count: 4096), 1) == [nil])
  }

  @Test func `Control-C in a pipe is a byte of the line`() throws {
    #expect(try lines(of: "a\u{3}b\ntwo", 2) == ["a\u{3}b", "two"])
  }

  @Test func `a wait ends when its task is cancelled`() async throws {
    let ends = try Descriptor.pipe()
    defer { [ends.read, ends.write].forEach { close($0) } }
    let waiting = Task.detached { await InputLine.read(from: ends.read) }
    waiting.cancel()
    #expect(await waiting.value == nil)
  }
}

struct TerminalQuestionTests {
  @Test(arguments: [("y\n", true), ("n\n", false), ("\n", false)])
  func `input from before the question is discarded`(answer: String, isYes: Bool) async throws {
    var (controller, terminal): (Int32, Int32) = (-1, -1)
    var path = [CChar](repeating: 0, count: 64)
    try #require(clinux_open_pty(&controller, &terminal, &path, path.count) == 0)
    defer { [controller, terminal].forEach { close($0) } }
    let before = isYes ? "n\n" : "y\n"
    try #require(write(controller, before, 2) == 2)
    try #require(await isReady(terminal))
    let question = try #require(
      TerminalQuestion(at: String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)))
    async let isAnsweredWithYes = question.ask("Well? ")
    try #require(await isReady(controller))
    try #require(write(controller, answer, answer.utf8.count) == answer.utf8.count)
    #expect(await isAnsweredWithYes == isYes)
  }

  /// Waits for input, and blocks no thread; returns whether there is any.
  private func isReady(_ descriptor: Int32) async -> Bool {
    await eventually {
      var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&wanted, 1, 0) > 0
    }
  }
}
