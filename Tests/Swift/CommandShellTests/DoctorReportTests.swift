import ControlProtocol
import Testing

@testable import Doctor
@testable import liquid_auth

/// Text and JSON of `liquid-auth doctor`.
@Suite struct DoctorReportTests {
  static let report = DoctorReport(checks: [
    .ok(.kernelModule, "uhid is loaded"),
    .problem(.node, "it \u{1B}[2J is gone", remedy: Remedy(["liquid-auth", "device", "replug"])),
    .note(.firefox, "x", about: "y\n", remedy: Remedy(["rm", "a 'b'", "--c=d"], isSafe: true)),
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
    let healthy = DoctorReport(checks: [.ok(.clock, "synchronized"), .note(.backup, "check it")])
    #expect(healthy.exitCode == 0 && healthy.isHealthy)
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
      .problem(.service, "a", remedy: safe), .problem(.node, "b", remedy: safe),
      .problem(.rule, "c", remedy: Remedy(["false"])), .note(.memlock, "d", remedy: Remedy(["id"], isSafe: true)),
    ])
    #expect(report.safeRemedies == [safe, Remedy(["id"], isSafe: true)])
  }
}
