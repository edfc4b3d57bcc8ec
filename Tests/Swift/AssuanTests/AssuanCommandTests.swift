import Testing

@testable import Assuan

@Suite struct AssuanCommandTests {
  private static func command(_ line: String) throws -> AssuanCommand {
    try Array(line.utf8).withUnsafeBytes { try AssuanCommand(line: $0) }
  }

  @Test(
    arguments: [
      ("BYE", "BYE", ""), ("getpin", "GETPIN", ""), ("SETDESC ", "SETDESC", ""), ("SETDESC  a", "SETDESC", " a"),
      ("SETDESC 100%25%0Anext", "SETDESC", "100%\nnext"), ("OPTION display=:0", "OPTION", "display=:0"),
      ("SETDESC %FF", "SETDESC", "\u{FFFD}"), ("SETDESC \u{E9}", "SETDESC", "\u{E9}"),
    ])
  func `a command is its word and its argument`(line: String, name: String, argument: String) throws {
    let command = try Self.command(line)
    #expect((command.name, command.argument) == (name, argument))
  }

  @Test func `a server reads what a client writes`() throws {
    for text in ["", "a b", "100%\r\n\0\u{7F}", "\u{1F600}"] {
      let line = try AssuanLine.command("SETDESC", text).dropLast()
      #expect(try Self.command(String(decoding: line, as: UTF8.self)).argument == text)
    }
  }

  @Test(arguments: ["", " ", " BYE", "SETDESC %", "SETDESC %4", "SETDESC %G1"])
  func `a malformed command is refused`(line: String) {
    #expect(throws: AssuanLine.Fault.malformed) { try Self.command(line) }
  }

  @Test func `a command over the limit is refused`() throws {
    #expect(try Self.command("SETDESC " + String(repeating: "x", count: 991)).argument.count == 991)
    #expect(throws: AssuanLine.Fault.tooLong) { try Self.command("SETDESC " + String(repeating: "x", count: 992)) }
  }

  @Test func `an error is a reply with its code and printable words`() throws {
    let line = AssuanLine.error(.notConfirmed, "no\n\u{E9}")
    #expect(line == Array("ERR 83886194 no??\n".utf8))
    #expect(AssuanError(code: 83_886_194) == .notConfirmed && AssuanError(code: 114) == .notConfirmed)
    #expect(AssuanError(code: 0x8000_0000 + 62) == .timedOut && AssuanError(code: 5) == nil)
    let long = AssuanLine.error(.general, String(repeating: "x", count: 2000))
    #expect(long.count == AssuanLine.limit && long.last == UInt8(ascii: "\n"))
  }

  @Test func `a client reads the status line of a closed dialog`() throws {
    let line = AssuanLine.closed
    #expect(line.last == UInt8(ascii: "\n"))
    #expect(try Array(line.dropLast()).withUnsafeBytes { try AssuanLine.reply($0) } == .closed)
  }

  @Test(arguments: [0, 1, 256, AssuanLine.dataLimit])
  func `data arrives byte for byte in one line`(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    var line = [UInt8](repeating: 0, count: AssuanLine.limit)
    let size = bytes.withUnsafeBytes { bytes in
      line.withUnsafeMutableBytes { AssuanLine.data(bytes, into: $0) }
    }
    #expect(size <= AssuanLine.limit && line[size - 1] == UInt8(ascii: "\n"))
    let read = try Array(line[..<(size - 1)]).withUnsafeBytes { line throws in
      guard case .data(let range) = try AssuanLine.reply(line) else { return [UInt8]() }
      var target = [UInt8](repeating: 0, count: 1000)
      let count = try target.withUnsafeMutableBytes { target in
        try AssuanLine.unescape(UnsafeRawBufferPointer(rebasing: line[range]), into: target)
      }
      return Array(target.prefix(count))
    }
    #expect(read == bytes)
  }
}
