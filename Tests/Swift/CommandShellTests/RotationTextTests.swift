import Recovery
import Testing

@testable import liquid_auth

/// The output of `liquid-auth rotate`.
@Suite struct RotationTextTests {
  static let fingerprint: [UInt8] = [0x01, 0x02, 0xAB, 0xCD]
  static let entries = [
    RotationEntry(site: "a.example", key: .passkey(name: "alice"), state: .left),
    RotationEntry(site: "b\u{1B}.example", key: .passkey(name: nil), state: .moved),
    RotationEntry(site: "ssh:", key: .others(before: 2, since: 1), state: .left),
    RotationEntry(site: nil, key: .others(before: 1, since: 0), state: .givenUp),
  ]

  private static func text(_ entries: [RotationEntry], historyFault: String? = nil) -> RotationText {
    RotationText(entries: entries, fingerprint: fingerprint, historyFault: historyFault)
  }

  // Holds: ROTATE-3
  @Test func `each key has a line, and the last line says what to do`() {
    let text = Self.text(Self.entries).text
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.split(separator: " ").joined(separator: " ")
    }
    #expect(
      lines == [
        "SITE KEY STATE", "a.example passkey of alice left", "b\\u{1B}.example passkey moved",
        "ssh: 2 other keys, 1 registered since left", "U2F 1 other key given up", "",
        "2 of 4 keys of the old phrase 0102abcd are left: register again at each site, or give sites up with: "
          + "liquid-auth rotate give-up",
      ])
    #expect(!text.contains("\u{1B}"))
  }

  @Test func `one key, nothing left, and no keys`() {
    let one = Self.text([Self.entries[0]]).text
    #expect(one.contains("1 of 1 key of the old phrase 0102abcd is left: "))
    #expect(
      Self.text([Self.entries[1]]).text.hasSuffix(
        "\n\nnothing is left of the old phrase 0102abcd; remove it with: liquid-auth rotate end"))
    #expect(
      Self.text([]).text
        == "no key of the old phrase 0102abcd is known; remove the phrase with: liquid-auth rotate end")
  }

  // Holds: ROTATE-3
  @Test func `for programs, each key has its site, kind and state`() {
    #expect(
      Self.text(Self.entries).json == [
        "previousFingerprint": .string("0102abcd"), "left": .number(2), "historyFault": .null,
        "keys": [
          [
            "site": .string("a.example"), "kind": .string("passkey"), "name": .string("alice"),
            "state": .string("left"),
          ],
          ["site": .string("b\u{1B}.example"), "kind": .string("passkey"), "name": .null, "state": .string("moved")],
          [
            "site": .string("ssh:"), "kind": .string("other"), "before": .number(2), "since": .number(1),
            "state": .string("left"),
          ],
          [
            "site": .null, "kind": .string("other"), "before": .number(1), "since": .number(0),
            "state": .string("given up"),
          ],
        ],
      ])
  }

  // Holds: ROTATE-3
  @Test func `a modified history is named before what to do`() {
    let text = Self.text([], historyFault: "the history was modified outside liquid-auth: entry 3 is missing")
    #expect(
      text.text
        == "WARNING: the history was modified outside liquid-auth: entry 3 is missing: keys can be missing from this "
        + "list\n\nno key of the old phrase 0102abcd is known; remove the phrase with: liquid-auth rotate end")
    #expect(
      text.json == [
        "previousFingerprint": .string("0102abcd"), "left": .number(0),
        "historyFault": .string("the history was modified outside liquid-auth: entry 3 is missing"), "keys": [],
      ])
  }

  @Test func `a failure while a new phrase is shown says that the vault was not changed`() {
    #expect(
      CommandFailure.cancelledAtPhrase(isSecond: true).description
        == "cancelled; the vault was not changed, and the words that you wrote down are useless; destroy the paper")
    #expect(
      CommandFailure.cancelledAtShares(isSecond: true).description
        == "cancelled; the vault was not changed, and the shares that you wrote down are useless; destroy the papers")
  }

  // Holds: ROTATE-2
  @Test func `a failure after a new phrase was shown says that its paper may be needed`() {
    let failure = CommandFailure("cannot write /state: Input/output error", code: .passphrase)
    #expect(
      failure.afterNewPhrase(Self.fingerprint, isShares: false)
        == CommandFailure(
          "cannot write /state: Input/output error",
          hint: "keep the paper: the vault may have the new phrase 0102abcd; if liquid-auth rotate list says that no "
            + "move has begun, use the phrase on the paper with:",
          run: ["liquid-auth", "rotate", "begin", "--import"], code: .passphrase))
    #expect(
      failure.afterNewPhrase(Self.fingerprint, isShares: true)
        == CommandFailure(
          "cannot write /state: Input/output error",
          hint: "keep the papers: the vault may have the new phrase 0102abcd; if liquid-auth rotate list says that no "
            + "move has begun, the shares are useless: destroy the papers, and begin again with:",
          run: ["liquid-auth", "rotate", "begin"], code: .passphrase))
  }
}
