import CBOR
import ControlProtocol
import Foundation
import Testing

@testable import Doctor

/// The manual of `liquid-auth doctor`, and its commands.
@Suite struct DoctorManualTests {
  @Test func `a remedy adds the place to our own commands, and is quoted for a shell`() {
    let remedy = Remedy(["liquid-auth", "init"], ["sudo", "rm", "$(x)"], ["", "=a", "a:b"])
    #expect(
      remedy.completed(["--control", "/a b"]).text
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
    { findings in DoctorChecksTests.change(&findings) { $0.prompts.isWaiting = true } },
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
    { findings in DoctorChecksTests.change(&findings) { $0.vault.condition = .missing } },
    { $0.authenticator = .running(DoctorChecksTests.status(), .init([:]), nil) },
    { _ in },
    { findings in
      findings.nodes = []
      DoctorChecksTests.change(&findings) {
        ($0.vault.condition, $0.problems) = (.unusable, [Problem("it is damaged")])
      }
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
