import PasskeyFiles
import Recovery
import Testing

@testable import liquid_auth

/// The output of `liquid-auth import`.
@Suite struct `The result of an import` {
  /// A CXF file with one good passkey for each name, one of RSA, and items without a passkey.
  private func file(_ names: [String], titles: Int = 0, extensions: String = "{}") throws -> PasskeyFile {
    // P-256, scalar 1.
    let key =
      "MEECAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcEJzAlAgEBBCAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ"
    let items =
      names.map {
        #"{"title":"t","credentials":[{"type":"passkey","credentialId":"AAAAAAAAAAAAAAAAAAAAAA","rpId":"a.example","username":"\#($0)","userDisplayName":"","userHandle":"AQ","key":"\#($0 == "bad" ? "AA" : key)","fido2Extensions":\#(extensions)}]}"#
      } + (0..<titles).map { #"{"title":"\#($0 == 0 ? "" : "title \($0)")","credentials":[]}"# }
    let text = #"{"accounts":[{"items":[\#(items.joined(separator: ","))]}]}"#
    return try PasskeyFile(Array(text.utf8), now: 0)
  }

  private func result(_ file: PasskeyFile, _ outcomes: PasskeyImportOutcome...) -> ImportResult {
    ImportResult(file, outcomes: outcomes)
  }

  private static let end = [
    "the phrase does not bring imported passkeys back; make a backup with: liquid-auth backup FILE --state-dir /s",
    "x\\u{1B} has unencrypted private keys; delete it when you no longer need it",
  ]

  private func lines(_ result: ImportResult) -> [String] {
    var place = PlaceOptions()
    (place.stateDir, place.control) = ("/s", nil)
    return result.text(file: "x\u{1B}", at: place).split(separator: "\n").map(String.init)
  }

  // Holds: IMPORT-7
  @Test func `imported, present and refused passkeys are counted and named`() throws {
    let all = result(
      try file(["one", "two", "three\u{202E}", "bad", "four", "five"]), .added, .present, .repeated, .otherKey, .derived
    )
    #expect(
      lines(all).dropLast(2) == [
        "1 passkey imported, 1 already in the store", "  a.example  one", "4 passkeys not imported",
        "  a.example  three\\u{202E}", "    item 3: an earlier passkey in the file has the same id",
        "  a.example  bad", "    item 4: its private key is not a valid PKCS #8 structure", "  a.example  four",
        "    item 5: the store has a passkey with the same id and another key or PRF secret, which stays",
        "  a.example  five",
        "    item 6: it is derived from the phrase of this vault; if it is not in the store, sign in at its site; "
          + "if it was removed here, register a new one there",
      ])
    #expect(lines(all).suffix(2) == Self.end[...] && !all.isComplete)
    let good = result(try file(["one", "two"]), .added, .added)
    #expect(
      lines(good) == ["2 passkeys imported", "  a.example  one", "  a.example  two"] + Self.end && good.isComplete)
    let again = result(try file(["one"]), .present)
    #expect(
      lines(again) == ["nothing was imported: 1 passkey already in the store", Self.end[1]] && again.isComplete)
    let bad = result(try file(["bad"]))
    #expect(lines(bad).prefix(2) == ["nothing was imported", "1 passkey not imported"] && !bad.isComplete)
  }

  // Holds: IMPORT-7
  @Test func `the file is named with its count and format before the passphrase is asked for`() throws {
    #expect(
      ImportResult.notice(try file(["one", "bad", "two"]), file: "x\u{1B}")
        == "x\\u{1B} has 3 passkeys in the format CXF, with unencrypted private keys; delete it when you no longer "
        + "need it")
  }

  // Holds: IMPORT-7
  @Test func `items without a passkey are listed, at most 20`() throws {
    let none = result(try file([], titles: 2))
    #expect(lines(none) == ["no passkeys in this file", "2 items without a passkey", "  (no title)", "  title 1"])
    #expect(!none.isComplete)
    #expect(lines(result(try file([], titles: 21))).suffix(2) == ["  title 19", "  and 1 other"])
  }

  // Holds: IMPORT-7
  @Test func `what is left out of a passkey is listed`() throws {
    let result = result(try file(["one"], extensions: #"{"largeBlob":{},"hmacCredentials":{}}"#), .added)
    #expect(
      lines(result).prefix(4) == [
        "1 passkey imported", "  a.example  one",
        "    not imported: its PRF secret; data that a site encrypted with it cannot be decrypted here",
        "    not imported: its large blob",
      ] && result.isComplete)
  }

  // Holds: IMPORT-7
  @Test func `the result has members for programs`() throws {
    let result = result(try file(["one", "bad", "two"], titles: 1), .added, .present)
    #expect(
      result.json.line
        == #"{"format": "CXF", "complete": false, "imported": [{"item": 1, "rpId": "a.example", "name": "one", "losses": []}], "present": [{"item": 3, "rpId": "a.example", "name": "two", "losses": []}], "notImported": [{"item": 2, "rpId": "a.example", "name": "bad", "reasons": ["its private key is not a valid PKCS #8 structure"]}], "withoutPasskey": [""]}"#
    )
  }
}
