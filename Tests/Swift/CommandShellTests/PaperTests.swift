import ArgumentParser
import CryptoPrimitives
import DeterministicKeys
import Glibc
import Recovery
import TestSupport
import Testing

@testable import liquid_auth

/// The page of `liquid-auth backup --paper`.
@Suite struct PaperTests {
  private let keys: CredentialKeys

  init() throws { keys = try KeysAndRecovery.keys() }

  /// A page with as many as fit of passkeys with these sites and names, of which the last is the newest.
  private func page(
    _ passkeys: [(String, String?)], removals: Int = 0, blobs: [UInt8]? = nil
  ) throws -> BackupPage {
    var accounts = try passkeys.enumerated().map { index, passkey in
      let (rpID, name) = passkey
      let source = CredentialSource(
        rpID: rpID, userID: [UInt8](repeating: UInt8(index), count: 64), name: name,
        id: [UInt8](repeating: UInt8(index), count: 127), algorithm: .es256, counter: 1, created: UInt64(index + 1),
        changed: 0, origin: .registered)
      let record = try #require(source)
      return StoredAccount(accountTag: keys.accountTag(record.rpIDHash, userID: record.userID), entry: .record(record))
    }
    accounts += (0..<removals).map {
      StoredAccount(
        accountTag: keys.accountTag(RPIDHash(rpID: "gone.example"), userID: [UInt8($0)]),
        entry: .tombstone(counter: 1, changed: 1))
    }
    let writer = BackupWriter()
    try writer.append(accounts.sorted { $0.accountTag.lexicographicallyPrecedes($1.accountTag) })
    let nonce = [UInt8](repeating: 5, count: 24)
    let reader = try BackupReader(
      file: writer.file(epoch: 0, largeBlobArray: blobs, keys: keys, nonce: nonce), keys: keys)
    let selection = try BackupSelection(of: reader, atMost: BackupCodes.maximumFileSize, nonce: nonce)
    return try BackupPage(of: selection, fingerprint: keys.fingerprint, date: "2026-11-26")
  }

  private func place(_ arguments: String...) throws -> PlaceOptions { try PlaceOptions.parse(arguments) }

  /// ISO/IEC 18004: version 25 has 117 modules a side.
  @Test func `the largest part has a code of version 25`() throws {
    let texts = try BackupCodes.texts(of: [UInt8](repeating: 0xFF, count: 5700))
    #expect(texts.map { QRCode($0)?.modules.count } == [Int?](repeating: 117, count: 6))
  }

  @Test func `a page of everything`() throws {
    let page = try page([("a.example", "alice"), ("b.example", nil)], removals: 1)
    #expect(page.codes.count == 1 && page.rest(naming: 60) == nil)
    #expect(
      try BackupText.written(page, "a\nb.pdf", at: place())
        == "wrote a\\u{A}b.pdf: 2 passkeys and 1 removal in 1 QR code")
    let pdf = try page.pdf()
    #expect(pdf.starts(with: Array("%PDF-".utf8)))
    #expect(pdf == (try page.pdf()), "it has no time and no random bytes but those of the seal")
  }

  // Holds: PAPER-3
  @Test func `what is not on a page is named`() throws {
    let long = String(repeating: "l", count: 64)
    var passkeys: [(String, String?)] = [("old.example", nil), ("\u{1B}[2J", "B\u{E9}la\u{202E}"), (long, long)]
    passkeys += (0..<80).map { ("\($0).example", String(repeating: "n", count: 255)) }
    let page = try page(passkeys, removals: 90, blobs: [1])
    #expect(page.codes.count == 6)
    // The three oldest passkeys are smaller than the others, so one of them may still fit.
    let others = page.selection.leftOut.count
    let all = try #require(page.rest(naming: others))
    #expect(all.hasPrefix("Not on this page: "))
    #expect(all.hasSuffix(", \(page.selection.leftOutRemovals) removals, the large blobs."))
    #expect(all.contains("0.example (\(String(repeating: "n", count: 37))...)"))
    #expect(!all.contains("\u{1B}"))
    let counted = "\(others) passkeys, \(page.selection.leftOutRemovals) removals, the large blobs."
    #expect(page.rest(naming: 0) == "Not on this page: " + counted)
    #expect(try #require(page.rest(naming: 1)).contains(", \(others - 1) other passkeys, "))
    #expect(try page.pdf().starts(with: Array("%PDF-".utf8)))

    let lines = try BackupText.written(page, "page.pdf", at: place("--state-dir", "/s")).split(separator: "\n")
    #expect(lines[0].hasPrefix("wrote page.pdf: \(page.selection.passkeys) passkeys"))
    #expect(lines[1] == "\(others) passkeys not on the page")
    #expect(lines.count == others + 5)
    #expect(
      lines.suffix(3) == [
        "\(page.selection.leftOutRemovals) removals not on the page", "the large blobs are not on the page",
        "for a backup of everything, run: liquid-auth backup FILE --state-dir /s",
      ])
  }

  @Test(arguments: [
    ("A z~", "41207a7e"), ("\u{E9}\u{A1}\u{FF}", "e9a1ff"), ("\n", "5c757b417d"), ("\u{AD}", "5c757b41447d"),
    ("\u{20AC}", "5c757b323041437d"), ("e\u{301}", "655c757b3330317d"), ("\u{0}", "5c757b307d"), ("", ""),
  ])
  func `text for the page is in its encoding`(_ text: String, _ hexadecimal: String) {
    #expect(PDFPage.encoded(text).map(UInt8.init(bitPattern:)).hexadecimal == hexadecimal + "00")
  }

  @Test func `lines are broken between words`() throws {
    let page = try PDFPage(title: "")
    // In Helvetica, a digit has 0.556 of its size.
    for (text, width, lines) in [
      ("11 22 33", 25.5, ["11 22", "33"]), ("11 22 33", 24.9, ["11", "22", "33"]),
      (" 1111111 2", 5, ["1111111", "2"]), ("", 5, []),
    ] as [(String, Float, [String])] {
      let broken = page.lines(of: text, size: 10, width: width)
      #expect(broken == lines)
    }
  }
}

/// The behaviour of zbarimg, simulated by scripts.
@Suite struct PictureCodesTests {
  private func reading(
    _ script: String, of picture: String = "/dev/null", timeout: Duration = .seconds(600)
  ) throws -> [String] {
    var path = Array("/tmp/liquid-auth-zbarimg.XXXXXX".utf8CString)
    let descriptor = mkstemp(&path)
    let program = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer { unlink(program) }
    let bytes = Array("#!/bin/sh\n\(script)\n".utf8)
    try #require(write(descriptor, bytes, bytes.count) == bytes.count)
    try #require(fchmod(descriptor, 0o700) == 0)
    close(descriptor)
    do { return try PictureCodes(program: program, timeout: timeout).texts(in: picture) } catch {
      return ["failed: \(error.description)"]
    }
  }

  // Holds: PAPER-4
  @Test(arguments: [
    ("echo one; echo 'two '; echo; echo three", ["one", "two ", "three"]), ("exit 4", []), ("exit 0", []),
    ("echo one; exit 4", []), ("echo noise >&2; echo one", ["one"]),
    ("exit 1", ["failed: zbarimg cannot read /dev/null: is it a picture?"]),
    ("kill -9 $$", ["failed: zbarimg cannot read /dev/null: is it a picture?"]),
    ("shift 5; echo $*", ["/dev/null"]),
    (#"echo "$1 $2 $3 $4 $5""#, ["--quiet --nodbus --raw -Sdisable -Sqrcode.enable"]),
  ])
  func `exit status and output both count`(script: String, texts: [String]) throws {
    #expect(try reading(script) == texts)
  }

  // Holds: PAPER-4
  @Test func `a PDF file is named as such, and how to make a picture of it`() throws {
    let directory = try TemporaryDirectory()
    let (page, other) = ("\(directory.path)/the page.pdf", "\(directory.path)/other")
    try NamedFile(page).create(Array("%PDF-1.4\n".utf8))
    try NamedFile(other).create(Array("%PDF".utf8))
    let advice =
      "it is a PDF file; make a picture of the page with: pdftoppm -r 250 -png '\(page)' page, and give the picture to "
      + "restore --image"
    #expect(PaperBackup.advice(onPDF: Array("%PDF-".utf8), page) == advice)
    for script in ["exit 1", "exit 4"] {
      #expect(try reading(script, of: page) == ["failed: cannot read \(page): \(advice)"])
    }
    #expect(try reading("echo one", of: page) == ["one"])
    #expect(PaperBackup.advice(onPDF: Array("%PDF".utf8), other) == nil)
    #expect(try reading("exit 4", of: other) == [])
    #expect(try reading("exit 1", of: other) == ["failed: zbarimg cannot read \(other): is it a picture?"])
  }

  // Holds: PAPER-4
  @Test func `a reader that hangs is ended`() throws {
    let late = ["failed: zbarimg took too long with /dev/null; name a smaller picture"]
    #expect(try reading("exec sleep 600", timeout: .milliseconds(50)) == late)
    #expect(try reading("exec yes", timeout: .milliseconds(50)) == late)
  }

  @Test func `a picture that cannot be read, and a missing program`() throws {
    #expect(
      throws: CommandFailure("cannot read /nonexistent/photo: No such file or directory")
    ) { try PictureCodes().texts(in: "/nonexistent/photo") }
    #expect(
      throws: CommandFailure(
        "zbarimg, which reads the codes, is not installed; install zbar-tools, and run the command again")
    ) { try PictureCodes(program: "/nonexistent/zbarimg").texts(in: "/dev/null") }
  }
}
