import ControlProtocol
import Doctor
import Glibc

/// The result of `liquid-auth doctor`, before it is text or JSON.
struct DoctorReport: Equatable {
  let checks: [Check]

  var isHealthy: Bool { !checks.contains { $0.state == .problem } }

  /// 0 without a problem, else 1.
  var exitCode: Int32 { isHealthy ? 0 : 1 }

  /// What `--fix` runs, each once.
  var safeRemedies: [Remedy] {
    var remedies: [Remedy] = []
    for remedy in checks.compactMap(\.remedy) where remedy.isSafe && !remedies.contains(remedy) {
      remedies.append(remedy)
    }
    return remedies
  }

  /// For people.
  var text: String {
    let titles = checks.map(\.title.printable)
    let width = min(titles.map(\.count).max() ?? 0, 30)
    return zip(checks, titles).map { check, title in
      let line = "\(Self.mark(check.state))  \(title.padded(to: width))  \(check.explanation.printable)"
      return line + (check.remedy.map { "\n        repair: \($0.text.printable)" } ?? "")
    }.joined(separator: "\n")
  }

  private static func mark(_ state: Check.State) -> String {
    switch state {
    case .ok: "ok  "
    case .note: "note"
    case .problem: "!!  "
    }
  }

  /// For programs.
  var json: JSON {
    [
      "healthy": .bool(isHealthy),
      "checks": .array(
        checks.map { check in
          [
            "name": .string(check.name.rawValue), "subject": JSON(check.subject), "title": .string(check.title),
            "state": .string(check.state.rawValue), "explanation": .string(check.explanation),
            "repair": JSON(check.remedy?.text), "safe": .bool(check.remedy?.isSafe ?? false),
          ]
        }),
    ]
  }
}
