import ControlProtocol
import Testing

@testable import liquid_auth

@Suite struct HistoryUsesTests {
  private static func entry(
    _ kind: UInt8, _ outcome: UInt8 = 1, by verification: UInt8 = 0, at site: String? = "a.example"
  ) -> HistoryDescription {
    HistoryDescription(
      number: 1, content: .init(time: 0, kind: kind, outcome: outcome, verification: verification, site: site))
  }

  /// The rows without their time.
  private static func rows(_ entries: [HistoryDescription]) -> [String] {
    HistoryUses.text(entries, isUTC: true).split(separator: "\n").dropFirst().map { row in
      row.replacing("1970-01-01 00:00:00 UTC", with: "").split(separator: "  ", omittingEmptySubsequences: true)
        .map { $0.drop { $0 == " " } }.joined(separator: ", ")
    }
  }

  // Holds: RECORD-1
  @Test func `a verification and the request that uses its token are one row`() {
    let passphrase = Self.entry(5, by: 1)
    #expect(Self.rows([passphrase, Self.entry(2, by: 3)]) == ["sign-in, passphrase, a.example"])
    #expect(
      Self.rows([Self.entry(5, by: 2, at: nil), Self.entry(14, by: 3), Self.entry(13, by: 3)])
        == ["passkey renamed, PIN, a.example", "passkey removed, PIN, a.example"])
    #expect(Self.rows([passphrase]) == ["verification for a program, passphrase, a.example"])
    // A token for one site verifies nobody at another.
    #expect(
      Self.rows([passphrase, Self.entry(2, by: 3, at: "b.example")])
        == ["verification for a program, passphrase, a.example", "sign-in, an earlier verification, b.example"])
    #expect(
      Self.rows([Self.entry(5, 5), Self.entry(2, by: 3)])
        == ["verification for a program: not verified, -, a.example", "sign-in, an earlier verification, a.example"])
  }

  // Holds: RECORD-1
  @Test func `a sign-in with several accounts is one row`() {
    #expect(Self.rows([Self.entry(2, by: 1), Self.entry(12), Self.entry(12)]) == ["sign-in, passphrase, a.example"])
    #expect(Self.rows([Self.entry(12, 2)]) == ["sign-in: refused, -, a.example"])
  }

  @Test func `each way in which a use ends has its words`() {
    let ends = (1...8).map { Self.rows([Self.entry(1, $0)])[0] }
    #expect(
      ends
        == [
          "", ": refused", ": not answered in time", ": withdrawn", ": not verified",
          ": already registered", ": refused by a policy", ": outcome 8",
        ].map { "new passkey\($0), -, a.example" })
  }

  @Test func `each kind has words of its own`() {
    let kinds = (1...39).filter { $0 != 12 }.map { Self.rows([Self.entry($0, at: nil)])[0] }
    #expect(Set(kinds).count == 38 && kinds.last == "kind 39, -, -")
    #expect(Set((1...39).map { HistoryWords.kind($0).name }).count == 39)
    // The first PIN, another one, and none; the site of keys that were given up, and none for those of U2F.
    #expect(kinds[9] == "PIN set or removed, -, -" && kinds[26] == "keys of the old phrase given up, -, -")
    #expect(Self.rows([Self.entry(28)]) == ["keys of the old phrase given up, -, a.example"])
  }

  @Test func `an entry that was changed, and text of a site, are shown as they are`() {
    let changed = HistoryUses.text([HistoryDescription(number: 1, content: nil)], isUTC: true)
    #expect(changed.hasSuffix("see: liquid-auth log verify"))
    #expect(Self.rows([Self.entry(2, at: "a\u{1B}b")]) == ["sign-in, -, a\\u{1B}b"])
    #expect(HistoryUses.text([], isUTC: true) == "no entries")
    #expect(HistoryUses.text([], of: "b.example", isUTC: false) == "no entries of b.example")
  }
}
