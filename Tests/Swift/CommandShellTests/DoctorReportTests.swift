import CBOR
import ControlProtocol
import Foundation
import Testing

@testable import liquid_auth

/// Text and JSON of `liquid-auth doctor`, and its manual.
@Suite struct DoctorReportTests {
  static let report = DoctorReport(checks: [
    .ok(.kernelModule, "uhid is loaded"),
    .problem(.node, "it \u{1B}[2J is gone", mend: Remedy(["liquid-auth", "device", "replug"])),
    .note(.firefox, "x", about: "y\n", mend: Remedy(["rm", "a 'b'", "--c=d"], isSafe: true)),
  ])

  @Test func `text has a mark, a title and an explanation, and the command below`() {
    #expect(
      Self.report.text == #"""
        ok    kernel module   uhid is loaded
        !!    node            it \u{1B}[2J is gone
                repair: liquid-auth device replug
        note  firefox y\u{A}  x
                repair: rm 'a '\''b'\''' --c=d
        """#)
    #expect(Self.report.exitCode == 1 && !Self.report.isHealthy)
  }

  @Test func `JSON has the members of each line`() {
    #expect(
      Self.report.json.line == #"{"healthy": false, "checks": ["#
        + #"{"name": "kernel-module", "subject": null, "title": "kernel module", "state": "ok", "#
        + #""explanation": "uhid is loaded", "repair": null, "safe": false}, "#
        + #"{"name": "node", "subject": null, "title": "node", "state": "problem", "#
        + #""explanation": "it \u001b[2J is gone", "repair": "liquid-auth device replug", "safe": false}, "#
        + #"{"name": "firefox", "subject": "y\n", "title": "firefox y\n", "state": "note", "explanation": "x", "#
        + #""repair": "rm 'a '\\''b'\\''' --c=d", "safe": true}]}"#)
  }

  @Test func `only safe commands are run, each once`() {
    let safe = Remedy(["true"], isSafe: true)
    let report = DoctorReport(checks: [
      .problem(.service, "a", mend: safe), .problem(.node, "b", mend: safe),
      .problem(.rule, "c", mend: Remedy(["false"])), .note(.memlock, "d", mend: Remedy(["id"], isSafe: true)),
    ])
    #expect(report.safeMends == [safe, Remedy(["id"], isSafe: true)])
  }

  @Test func `a remedy adds the place to our own commands, and is quoted for a shell`() {
    let mend = Remedy(["liquid-auth", "init"], ["sudo", "rm", "$(x)"], ["", "=a", "a:b"])
    #expect(
      mend.completed(["--control", "/a b"]).text
        == "liquid-auth init --control '/a b' && sudo rm '$(x)' && '' '=a' a:b")
  }

  /// What breaks in each of the fifteen problems; a line that only informs shows the same note on a healthy system.
  private static let causes: [@Sendable (inout DoctorFindings) -> Void] = [
    { ($0.snaps[0].isConnected, $0.flatpaks[0].hasAllDevices) = (false, false) },
    {
      ($0.driver, $0.rule, $0.hasBrokerSocket) = (.absent, .missing, false)
      $0.nodes[0].isOpenable = false
    },
    {
      ($0.pinentry.target, $0.notifications) = ("pinentry-curses", .known(nil))
      $0.session = .known(.init(id: "7", isActive: true, isRemote: false, isAtSeat: true, isLocked: true))
    },
    { findings in DoctorChecksTests.change(&findings) { $0.waiting = true } },
    { $0.authenticator = .running(DoctorChecksTests.status(), DoctorChecksTests.information(alwaysUV: true), nil) },
    {
      $0.firefoxOff = [.init(files: ["/h/prefs.js"], name: "security.webauthn.ctap2")]
      $0.nodes[0].descriptor = []
    },
    {
      let tries = TriesLeft(pin: 0, needsReplug: false)
      $0.authenticator = .running(DoctorChecksTests.status(), DoctorChecksTests.information(pin: true), tries)
    },
    {
      $0.nodes[0].access?.mode = 0o660
      $0.uhid?.hasACL = true
      $0.session = .known(.init(id: "7", isActive: true, isRemote: true, isAtSeat: false, isLocked: false))
    },
    {
      var other = DoctorChecksTests.ours
      (other.name, other.place) = ("hidraw4", "usb-1")
      $0.nodes.append(other)
    },
    { findings in DoctorChecksTests.change(&findings) { $0.vault = .missing } },
    { $0.authenticator = .running(DoctorChecksTests.status(), .init([:]), nil) },
    { _ in },
    { findings in
      findings.nodes = []
      DoctorChecksTests.change(&findings) { ($0.vault, $0.problems) = (.unusable, [Problem("it is damaged")]) }
    },
    { $0.snapApplications = ["bitwarden"] },
    { $0.driver = .unavailable(in: "6.1.0") },
  ]

  // Holds: DOCTOR-2
  @Test func `the manual names every line, and each of the fifteen problems shows in all lines that it names`() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/Manual/liquid-auth-doctor.1.scd")
    let manual = try String(contentsOf: path, encoding: .utf8)
    let names = Set(Check.Name.allCases.map(\.rawValue))
    let described = manual.split(separator: "\n").filter { $0.hasPrefix("*") && $0.hasSuffix("*") }
      .map { String($0.dropFirst().dropLast()) }
    #expect(names.isSubset(of: Set(described)))

    let section = try #require(manual.components(separatedBy: "# WHAT CAN GO WRONG").last)
    let rows = section.components(separatedBy: "\n# ")[0].split(separator: "\n").filter { $0.hasPrefix("- ") }
    var numbers: [Int] = []
    for row in rows {
      let number = try #require(Int(row.dropFirst(2).prefix { $0.isNumber }))
      numbers.append(number)
      var findings = DoctorChecksTests.healthy
      Self.causes[number - 1](&findings)
      let shown = Set(findings.checks.filter { $0.state != .ok }.map(\.name.rawValue))
      let named = row.components(separatedBy: "_").enumerated().filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
      #expect(!named.isEmpty, "\(row)")
      for name in named { #expect(shown.contains(name), "\(row)") }
    }
    #expect(numbers == Array(1...15))
  }
}
