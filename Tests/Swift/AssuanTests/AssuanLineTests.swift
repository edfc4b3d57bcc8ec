import Testing

@testable import Assuan

@Suite struct AssuanLineTests {
  @Test(
    arguments: [
      ("GETPIN", nil, "GETPIN\n"), ("SETDESC", "", "SETDESC \n"), ("SETDESC", "a b", "SETDESC a b\n"),
      ("SETDESC", "100%\r\nnext", "SETDESC 100%25%0D%0Anext\n"),
      ("SETDESC", "\0\u{1}\u{1F}\u{7F}", "SETDESC %00%01%1F%7F\n"),
      ("SETDESC", "é\u{1F600}_+\\", "SETDESC é\u{1F600}_+\\\n"), ("OPTION", "display=:0", "OPTION display=:0\n"),
    ] as [(String, String?, String)])
  func `a command is one line`(name: String, text: String?, line: String) throws {
    #expect(try AssuanLine.command(name, text) == Array(line.utf8))
  }

  @Test func `a line has at most 1000 bytes with its line end`() throws {
    #expect(try AssuanLine.command("SETDESC", String(repeating: "x", count: 991)).count == 1000)
    #expect(throws: AssuanLine.Fault.tooLong) {
      try AssuanLine.command("SETDESC", String(repeating: "x", count: 992))
    }
    #expect(throws: AssuanLine.Fault.tooLong) {
      try AssuanLine.command("SETDESC", String(repeating: "%", count: 331))
    }
  }

  @Test(
    arguments: [
      ("OK", .ok), ("OK Pleased to meet you", .ok), ("OK ", .ok), ("S PASSPHRASE_FROM_CACHE", .remark), ("S", .remark),
      ("S BUTTON_INFO close", .closed), ("S BUTTON_INFO closed", .remark), ("S BUTTON_INFO", .remark),
      ("# a comment", .remark), ("#", .remark), ("D abc", .data(2..<5)), ("D ", .data(2..<2)), ("D  x", .data(2..<4)),
      ("ERR 83886179 Operation cancelled <Pinentry>", .error(code: 83_886_179, text: "Operation cancelled <Pinentry>")),
      ("ERR 99", .error(code: 99, text: "")), ("ERR 99 ", .error(code: 99, text: "")),
      ("ERR 1 a\u{1B}[2Jb\u{E9}", .error(code: 1, text: "a[2Jb")),
    ] as [(String, AssuanLine.Reply)])
  func `a reply is parsed`(line: String, reply: AssuanLine.Reply) throws {
    #expect(try Self.reply(line) == reply)
  }

  @Test(arguments: [
    "", "ok", "OKAY", "OK\tx", "D", "Dabc", "ERR", "ERR ", "ERR x", "ERR -1", "ERR 4294967296 x", "END",
    "INQUIRE KEY", "HTTP/1.1 400", " OK", "\u{FF}\u{FE}",
  ])
  func `a malformed reply is refused`(line: String) {
    #expect(throws: AssuanLine.Fault.malformed) { try Self.reply(line) }
  }

  @Test func `a reply line over the limit is refused`() throws {
    #expect(try Self.reply("S " + String(repeating: "x", count: 997)) == .remark)
    #expect(throws: AssuanLine.Fault.tooLong) { try Self.reply("S " + String(repeating: "x", count: 998)) }
  }

  @Test(
    arguments: [
      ("", []), ("abc", [0x61, 0x62, 0x63]), ("%25", [0x25]), ("%0a%0D", [10, 13]), ("%00", [0]),
      ("a%20b", [0x61, 0x20, 0x62]),
      ("%c3%A9", [0xC3, 0xA9]), ("é", [0xC3, 0xA9]), ("%FF", [0xFF]), ("%2525", [0x25, 0x32, 0x35]), ("+", [0x2B]),
    ] as [(String, [UInt8])])
  func `escapes are decoded`(escaped: String, bytes: [UInt8]) throws {
    #expect(try Self.unescape(escaped) == bytes)
  }

  @Test(arguments: ["%", "%2", "a%", "%G1", "%1G", "%%41", "% 1", "%-1"])
  func `a percent sign without two hex digits is refused`(escaped: String) {
    #expect(throws: AssuanLine.Fault.malformed) { try Self.unescape(escaped) }
  }

  @Test func `text that exceeds the buffer is refused`() throws {
    #expect(try Self.unescape("%41%41%41", room: 3) == [0x41, 0x41, 0x41])
    #expect(throws: AssuanLine.Fault.tooLong) { try Self.unescape("%41%41%41%41", room: 3) }
  }

  @Test func `every byte value can be decoded`() throws {
    let all = (0...255).map { UInt8($0) }
    let text = all.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(try Self.unescape(text) == all)
  }

  private static func reply(_ line: String) throws -> AssuanLine.Reply {
    try Array(line.utf8).withUnsafeBytes { bytes in try AssuanLine.reply(bytes) }
  }

  private static func unescape(_ text: String, room: Int = 1000) throws -> [UInt8] {
    var target = [UInt8](repeating: 0xEE, count: room)
    let count = try Array(text.utf8).withUnsafeBytes { source in
      try target.withUnsafeMutableBytes { target in try AssuanLine.unescape(source, into: target) }
    }
    #expect(target[count...].allSatisfy { $0 == 0xEE })
    return Array(target.prefix(count))
  }
}

@Suite struct AssuanLineBufferTests {
  @Test(arguments: [1, 2, 3, 7, 1000, 2000])
  func `lines are whole, whatever the size of the pieces`(pieceSize: Int) throws {
    let lines = ["OK hello", "", "D abc%0A", String(repeating: "x", count: 999), "OK"]
    let stream = Array((lines.joined(separator: "\n") + "\n").utf8)
    var found: [String] = []
    try Self.withBuffer { (buffer: inout AssuanLineBuffer) throws in
      var rest = stream[...]
      while true {
        while let line = try buffer.nextLine() { found.append(String(decoding: line, as: UTF8.self)) }
        let piece = rest.prefix(min(pieceSize, buffer.free.count))
        if piece.isEmpty { break }
        buffer.free.copyBytes(from: piece)
        buffer.received(piece.count)
        rest = rest.dropFirst(piece.count)
      }
      #expect(buffer.isEmpty)
    }
    #expect(found == lines)
  }

  @Test func `a line without an end is refused at 1000 bytes`() throws {
    try Self.withBuffer { (buffer: inout AssuanLineBuffer) throws in
      buffer.free.copyBytes(from: [UInt8](repeating: 0x78, count: 999))
      buffer.received(999)
      #expect(try buffer.nextLine() == nil)
      #expect(!buffer.isEmpty)
      buffer.free.copyBytes(from: [0x78])
      buffer.received(1)
      #expect(throws: AssuanLine.Fault.tooLong) { try buffer.nextLine() == nil }
    }
  }

  @Test func `lines already read are wiped when the rest moves up`() throws {
    var memory = [UInt8](repeating: 0, count: 2000)
    try memory.withUnsafeMutableBytes { memory throws in
      var buffer = AssuanLineBuffer(memory: memory)
      buffer.free.copyBytes(from: Array("D secret\nO".utf8))
      buffer.received(10)
      #expect(try buffer.nextLine()?.count == 8)
      #expect(try buffer.nextLine() == nil)
    }
    #expect(memory == Array("O".utf8) + [UInt8](repeating: 0, count: 1999))
  }

  private static func withBuffer(_ body: (inout AssuanLineBuffer) throws -> Void) throws {
    var memory = [UInt8](repeating: 0, count: 2000)
    try memory.withUnsafeMutableBytes { memory throws in
      var buffer = AssuanLineBuffer(memory: memory)
      try body(&buffer)
    }
  }
}
