import Glibc
import Testing

@testable import liquid_auth_wallet

/// What zbarimg may do: its place is taken by a script.
struct QRCodeReaderTests {
  /// What is said of a picture where zbarimg is this script.
  private func reading(_ script: String, patience: Duration = .seconds(600)) async throws -> String {
    let template = "/tmp/liquid-auth-zbarimg.XXXXXX"
    var path = Array(template.utf8CString)
    let descriptor = mkstemp(&path)
    let program = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer { unlink(program) }
    let text = "#!/bin/sh\n\(script)\n"
    try #require(write(descriptor, text, text.utf8.count) == text.utf8.count)
    try #require(fchmod(descriptor, 0o700) == 0)
    close(descriptor)
    do {
      return try await QRCodeReader(program: program, patience: patience).text(in: "/dev/null")
    } catch {
      return error.description
    }
  }

  @Test(arguments: [
    ("echo liquid://a.example/", "liquid://a.example/"),
    ("echo one; echo two", "there is more than one QR code in /dev/null; cut out the dApp's, and try again"),
    ("exit 4", "there is no QR code in /dev/null"), ("exit 0", "there is no QR code in /dev/null"),
    ("echo noise; [ /dev/fd/2 -ef /dev/null ] && exit 4", "there is no QR code in /dev/null"),
    ("exit 1", "zbarimg cannot read /dev/null: is it a picture?"),
    ("kill -9 $$", "zbarimg cannot read /dev/null: is it a picture?"),
  ])
  func `its exit status counts, and what it writes`(script: String, said: String) async throws {
    #expect(try await reading(script) == said)
  }

  @Test func `a picture with more codes than anybody reads ends it`() async throws {
    #expect(
      try await reading("exec yes")
        == "there is more than one QR code in /dev/null; cut out the dApp's, and try again")
  }

  @Test func `one that takes too long is ended`() async throws {
    #expect(try await reading("exec sleep 600", patience: .milliseconds(10)) == "zbarimg took too long with /dev/null")
  }

  @Test func `cancelling the task ends it`() async throws {
    let task = Task { try await reading("exec sleep 600") }
    task.cancel()
    #expect(try await task.value == "ended by a signal")
  }

  @Test func `what is not installed is named`() async {
    let failure = await #expect(throws: WalletFailure.self) {
      try await QRCodeReader(program: "/nowhere/zbarimg").text(in: "/dev/null")
    }
    #expect(failure?.description == "zbarimg is not installed; install zbar-tools, or give the link itself")
  }
}
