import CBOR
import ControlProtocol
import CryptoPrimitives
import ProcessIO
import Testing

@testable import liquid_auth

/// The members of getInfo that the reports read.
private func information(
  pin: Bool = true, uv: Bool? = true, alwaysUV: Bool = false, minimum: CBORValue = 4, forced: Bool = false
) -> KeyInformation {
  var options: CBORMap = ["clientPin": .bool(pin), "alwaysUv": .bool(alwaysUV)]
  options["uv"] = uv.map { .bool($0) }
  return KeyInformation([0x04: .map(options), 0x0B: 8192, 0x0C: .bool(forced), 0x0D: minimum, 0x10: 8])
}

@Suite struct PINReportTests {
  @Test func `a PIN that is set is shown with its tries`() {
    let report = PINReport(
      information: information(), tries: TriesLeft(pin: 8, needsReplug: false, verification: 7))
    #expect(
      report.text == """
        PIN                 set
        tries left          8
        minimum PIN length  4 characters
        passphrase          verifies too, 7 tries left
        """)
  }

  @Test func `without a PIN no tries are shown, in text and JSON`() {
    let report = PINReport(
      information: information(pin: false, uv: nil, minimum: 6),
      tries: TriesLeft(pin: 8, needsReplug: false, verification: nil))
    #expect(
      report.text == """
        PIN                 not set
        minimum PIN length  6 characters
        passphrase          does not verify
        """)
    #expect(
      report.json.description == """
        {
          "set": false,
          "triesLeft": null,
          "needsReplug": false,
          "mustBeChanged": false,
          "minimumLength": 6,
          "passphraseTriesLeft": null,
          "problems": []
        }
        """)
  }

  static let locks: [(left: Int, replug: Bool, forced: Bool, todo: [String])] = [
    (5, true, false, ["three wrong PINs in a row; before the next try, run: liquid-auth device replug --power-cycle"]),
    (0, true, true, ["the PIN is blocked; see: liquid-auth status"]),
    (8, false, true, ["the PIN must be changed before its next use; change it with: liquid-auth pin change"]),
  ]

  @Test(arguments: locks)
  func `a locked PIN shows what to do`(_ left: Int, _ replug: Bool, _ forced: Bool, _ todo: [String]) {
    let report = PINReport(
      information: information(forced: forced), tries: TriesLeft(pin: left, needsReplug: replug, verification: 8))
    #expect(report.problems == todo)
    #expect(report.text.hasSuffix("\n\nto do\n- \(todo[0])"))
  }
}

@Suite struct SettingsReportTests {
  @Test func `the public settings leave out the sites`() {
    #expect(
      SettingsReport(information(alwaysUV: true), ["passphrase"]).text == """
        verification            passphrase
        always verify           on
        minimum PIN length      4 characters
        change of PIN           not required
        enterprise attestation  not supported
        """)
    #expect(SettingsReport(information(), ["passphrase"]).json.description.contains("\"minimumPinLengthSites\": null"))
  }

  @Test func `any program reads the order of the means, and none if only a PIN verifies`() {
    let means = ["fingerprint", "pam", "passphrase"]
    #expect(SettingsReport(information(uv: true), means).means == means)
    #expect(SettingsReport(information(uv: nil), ["none"]).text.hasPrefix("verification            only a PIN\n"))
  }

  @Test func `the owner's settings name the sites, with control characters escaped`() {
    let report = SettingsReport(
      OwnerSettings(
        alwaysUV: false, minimumPINLength: 6, minimumPINLengthRPIDs: ["a.example", "\u{1B}[2J"], forcePINChange: true,
        isPINSet: true, means: ["pam", "fingerprint"]), information(uv: true))
    #expect(
      report.text == """
        verification            pam, fingerprint, passphrase
        always verify           off
        minimum PIN length      6 characters
        sites that can read it  a.example, \\u{1B}[2J
        change of PIN           required before the PIN can be used
        enterprise attestation  not supported

        to do
        - the PIN must be changed before its next use; change it with: liquid-auth pin change
        """)
    #expect(
      report.json == [
        "verification": .array([.string("pam"), .string("fingerprint"), .string("passphrase")]),
        "alwaysUv": .bool(false), "minimumPinLength": .number(6),
        "minimumPinLengthSites": .array([.string("a.example"), .string("\u{1B}[2J")]), "forcePinChange": .bool(true),
        "enterpriseAttestation": .bool(false), "problems": .array([.string(OwnerSettings.pinMustBeChanged.text)]),
      ])
  }

  @Test(arguments: [
    (ChangeSettings(alwaysUV: true), "each registration and sign-in now needs verification"),
    (ChangeSettings(alwaysUV: false), "each site now decides whether it needs verification"),
    (ChangeSettings(means: ["pam"]), "verification, in this order: pam, passphrase"),
    (
      ChangeSettings(minimumPINLength: 6, minimumPINLengthRPIDs: []),
      "a new PIN now needs at least 6 characters\nsites that can read this length: none"
    ),
    (ChangeSettings(minimumPINLength: 6), "a new PIN now needs at least 6 characters"),
    (ChangeSettings(forcePINChange: true), "the PIN must be changed before it can be used"),
  ])
  func `a change says what it did, and what is to do`(_ change: ChangeSettings, _ text: String) {
    let settings = { (isPINSet: Bool) in
      OwnerSettings(
        alwaysUV: change.alwaysUV ?? false, minimumPINLength: 6, minimumPINLengthRPIDs: [], forcePINChange: true,
        isPINSet: isPINSet, means: change.means ?? [])
    }
    #expect(SettingsReport(settings(false), information(uv: true)).text(of: change) == text)
    #expect(
      SettingsReport(settings(true), information(uv: true)).text(of: change)
        == "\(text)\n\nto do\n- \(OwnerSettings.pinMustBeChanged.text)")
  }

  @Test(arguments: [(true, false, false), (false, false, false), (true, true, false), (true, false, true)])
  func `alwaysUv without a way to verify is a problem, with its remedy`(_ always: Bool, _ pin: Bool, _ uv: Bool) {
    let told = information(pin: pin, uv: uv ? true : nil, alwaysUV: always)
    let settings = OwnerSettings(
      alwaysUV: always, minimumPINLength: 4, minimumPINLengthRPIDs: [], forcePINChange: false, isPINSet: pin,
      means: [])
    let isUseless = always && !pin && !uv
    for report in [SettingsReport(told, [uv ? "passphrase" : "none"]), SettingsReport(settings, told)] {
      #expect(report.problems == (isUseless ? ["nothing can verify you; set a PIN with: liquid-auth pin set"] : []))
      #expect(
        report.text.hasSuffix("\n\nto do\n- nothing can verify you; set a PIN with: liquid-auth pin set") == isUseless)
    }
  }
}

@Suite struct PINInputTests {
  @Test(arguments: [
    ("1234", 4, true), ("123", 4, false), ("12345", 6, false), ("żółw", 4, true), ("żół", 4, false),
    ("12\t34", 4, false), (String(repeating: "x", count: 63), 4, true), (String(repeating: "x", count: 64), 4, false),
    (String(repeating: "ż", count: 32), 4, false), ("", 4, false),
  ])
  func `a PIN has a minimum in code points and a maximum in bytes`(_ pin: String, _ minimum: Int, _ isTaken: Bool) {
    let secret = Array(pin.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
    #expect((PINRule.violation(by: secret, minimum: minimum) == nil) == isTaken)
  }

  @Test func `a PIN that is not UTF-8 is refused`() {
    let secret = ([0x31, 0x32, 0x33, 0xFF] as [UInt8]).withUnsafeBytes { SecretBytes(copying: $0) }
    #expect(PINRule.violation(by: secret, minimum: 4) == "a PIN must be UTF-8")
  }

  // "ż" and "é" as two code points each, a unit sign that NFC changes to a letter, and a Hindi letter as two.
  // Holds: CONTROL-11
  @Test(arguments: [
    "z\u{307}1234", "e\u{301}e\u{301}e\u{301}e\u{301}", "123\u{212B}", "1234\u{928}\u{93C}",
  ])
  func `a PIN that NFC changes is refused`(_ pin: String) {
    let secret = Array(pin.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
    #expect(
      PINRule.violation(by: secret, minimum: 4)
        == "a PIN must be in the Unicode form NFC; type an accented letter as one character")
  }

  // Thai and Hebrew have marks that join nothing, Hindi and Bengali some that join few letters. A Lithuanian letter has
  // two accents, and a digit has one.
  @Test(arguments: [
    "\u{915}\u{93C}\u{932}\u{92E}", "\u{9AC}\u{9BE}\u{982}\u{9B2}\u{9BE}", "\u{117}\u{301}123", "1234\u{301}",
    "\u{E01}\u{E34}\u{E19}\u{E49}", "\u{928}\u{92E}\u{938}\u{94D}\u{924}\u{947}",
    "\u{5E9}\u{5B8}\u{5C1}\u{5DC}\u{5D5}",
  ])
  func `a PIN with marks that NFC keeps is taken`(_ pin: String) {
    let secret = Array(pin.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
    #expect(PINRule.violation(by: secret, minimum: 4) == nil)
  }

  private static func choose(
    _ answers: [(prompt: String, keys: String)]
  ) throws -> (pin: Result<[UInt8], CommandFailure>, shown: String) {
    let person = try Person(answers)
    func choose() throws(CommandFailure) -> [UInt8] {
      try PINInput.new(minimum: 4, on: TerminalDevice(owning: person.terminal)).bytes
    }
    let result: Result<[UInt8], CommandFailure>
    do throws(CommandFailure) { result = .success(try choose()) } catch { result = .failure(error) }
    return (result, person.shown())
  }

  @Test func `a PIN is typed twice and not shown; a short or different one is asked for again`() throws {
    let (result, shown) = try Self.choose([
      ("New PIN: ", "12\n"), ("New PIN: ", "4711\n"), ("again: ", "4712\n"), ("New PIN: ", "8157\n"),
      ("again: ", "8157\n"),
    ])
    #expect(result == .success(Array("8157".utf8)))
    #expect(shown.contains("a PIN needs at least 4 characters; try another"))
    #expect(shown.contains("the two are not the same; try again"))
    #expect(!shown.contains("4711") && !shown.contains("8157"))
  }

  // Holds: INPUT-20
  @Test func `after three tries no PIN is chosen`() throws {
    let (result, _) = try Self.choose(Array(repeating: ("New PIN: ", "1\n"), count: 3))
    #expect(result == .failure(CommandFailure("no PIN was chosen; nothing was changed")))
  }
}
