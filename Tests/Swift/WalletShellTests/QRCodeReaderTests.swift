import Glibc
import Testing

@testable import liquid_auth_wallet

/// The behaviour of zbarimg, simulated by scripts.
struct QRCodeReaderTests {
  /// The result for a picture with this script as zbarimg.
  private func reading(
    _ script: String, of picture: String = "/dev/null", timeout: Duration = .seconds(600)
  ) async throws -> String {
    let program = try file(Array("#!/bin/sh\n\(script)\n".utf8))
    defer { unlink(program) }
    do {
      return try await QRCodeReader(program: program, timeout: timeout).text(in: picture)
    } catch {
      return error.description
    }
  }

  /// The path of an executable file with these bytes.
  private func file(_ bytes: [UInt8]) throws -> String {
    var path = Array("/tmp/liquid-auth-zbarimg.XXXXXX".utf8CString)
    let descriptor = mkstemp(&path)
    defer { close(descriptor) }
    try #require(write(descriptor, bytes, bytes.count) == bytes.count)
    try #require(fchmod(descriptor, 0o700) == 0)
    return String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  @Test(arguments: [
    ("echo liquid://a.example/", "liquid://a.example/"),
    (
      "echo one; echo two",
      "there is more than one QR code in /dev/null; crop the picture to one of them, and try again"
    ),
    ("exit 4", "there is no QR code in /dev/null"), ("exit 0", "there is no QR code in /dev/null"),
    ("echo noise; [ /dev/fd/2 -ef /dev/null ] && exit 4", "there is no QR code in /dev/null"),
    ("exit 1", "zbarimg cannot read /dev/null: is it a picture?"),
    ("kill -9 $$", "zbarimg cannot read /dev/null: is it a picture?"),
  ])
  func `exit status and output both count`(script: String, said: String) async throws {
    #expect(try await reading(script) == said)
  }

  // Holds: INPUT-9
  @Test(arguments: [
    // The second try is over white with a border, the third in black and white.
    (#"[ $7 = pgm:fd:0 ] || exit 4; head -n 1"#, "P5 22 21 255"),
    (#"[ $7 = pgm:fd:0 ] || exit 4; [ "$(tail -n +2 | tr -d '\000\377' | wc -c)" = 0 ] || exit 4; echo ok"#, "ok"),
    // The fourth is inverted; there is no fifth.
    ("exit 4", nil),
    // The error of the first try is reported for all tries.
    (
      #"[ $7 = pgm:fd:0 ] && exec yes; exit 4"#,
      "there is more than one QR code in PATH; crop the picture to one of them, and try again"
    ),
  ])
  func `a PNG picture without a code is tried three times more`(script: String, said: String?) async throws {
    let picture = try file(PNG(2, 1, depth: 8, colour: 4, rows: [0, 100, 255, 0, 0]).bytes)
    defer { unlink(picture) }
    let expected = said?.replacing("PATH", with: picture) ?? "there is no QR code in \(picture)"
    #expect(try await reading(script, of: picture) == expected)
  }

  // Holds: INPUT-9, INPUT-10
  @Test(
    arguments: [
      ("GIF", Array("GIF89a".utf8) + [20, 0, 10, 0]),
      ("BMP", Array("BM".utf8) + [UInt8](repeating: 0, count: 16) + [20, 0, 0, 0, 0xF6, 0xFF, 0xFF, 0xFF]),
      ("JPEG", [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xC2, 0, 11, 8, 0, 10, 0, 20, 1]),
      ("WebP, lossy", Array("RIFF....WEBPVP8 ".utf8) + [UInt8](repeating: 0, count: 10) + [20, 0, 10, 0]),
      ("WebP, lossless", Array("RIFF....WEBPVP8L".utf8) + [0, 0, 0, 0, 0x2F, 19, 0x40, 2, 0]),
      ("WebP, extended", Array("RIFF....WEBPVP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0, 19, 0, 0, 9, 0, 0]),
    ] as [(String, [UInt8])])
  func `a picture in another format is tried over white and over black, with a border`(
    name: String, bytes: [UInt8]
  ) async throws {
    let picture = try file(bytes)
    defer { unlink(picture) }
    for colour in ["white", "black"] {
      let script = #"[ $7 = mvg:- ] && grep -x -A 2 "fill \#(colour)" >/dev/null || exit 4; echo \#(colour)"#
      #expect(try await reading(script, of: picture) == colour, "\(name)")
    }
    let drawing = try #require(FramedPicture(of: bytes, at: picture)).drawing(over: "white")
    #expect(
      String(decoding: drawing, as: UTF8.self)
        == "viewbox 0 0 40 30\nfill white\nrectangle 0,0 40,30\nimage over 10,10 0,0 \"\(picture)\"\n", "\(name)")
    #expect(FramedPicture(of: Array(bytes.dropLast(9)), at: picture) == nil, "\(name), cut off")
    #expect(FramedPicture(of: bytes, at: "/tmp/a\"b") == nil && FramedPicture(of: bytes, at: "x.png[0]") == nil)
  }

  // Holds: INPUT-10
  @Test(arguments: ["", "GIF89a", "\u{89}PNG"])
  func `a picture in another format is tried once`(content: String) async throws {
    let picture = try file(Array(content.utf8))
    defer { unlink(picture) }
    #expect(
      try await reading(#"[ $7 = pgm:fd:0 ] && echo again; exit 4"#, of: picture) == "there is no QR code in \(picture)"
    )
  }

  @Test func `a picture with too many codes stops zbarimg`() async throws {
    #expect(
      try await reading("exec yes")
        == "there is more than one QR code in /dev/null; crop the picture to one of them, and try again")
  }

  @Test func `zbarimg is ended after the timeout`() async throws {
    #expect(try await reading("exec sleep 600", timeout: .milliseconds(10)) == "zbarimg took too long with /dev/null")
  }

  @Test func `cancelling the task stops zbarimg`() async throws {
    let task = Task { try await reading("exec sleep 600") }
    task.cancel()
    #expect(try await task.value == "ended by a signal")
  }

  @Test func `a missing program is named`() async {
    let failure = await #expect(throws: WalletFailure.self) {
      try await QRCodeReader(program: "/nowhere/zbarimg").text(in: "/dev/null")
    }
    #expect(failure?.description == "zbarimg is not installed; install zbar-tools, or give the link itself")
  }
}
