import ProcessIO

extension BrowserDemo {
  /// Runs the demo with a wallet; returns its results, which it has printed.
  func runDApp() async throws(CommandFailure) -> DAppResults {
    let site = try await show { [isJSON] port in DAppSite(port: port, at: .now) { $0.write(isJSON: isJSON) } }
    let results = site.results
    writeResult(
      isJSON ? (["event": "finished"] as JSON).adding(results.json).line : results.text, isJSON: isJSON)
    return results
  }
}

extension DAppResults {
  /// For people: the totals, and how to delete what the wallet has stored.
  var text: String {
    let counts = "\(checks) \(checks == 1 ? "check" : "checks")"
    let verdict =
      failures > 0
      ? "\(failures) of \(counts) failed"
      : holds ? "all \(counts) hold" : "no check failed, but a demo needs a signature"
    return "\n\(verdict)" + (storedIDs.isEmpty ? "" : "\n\(DemoResults.removal(of: storedIDs))")
  }
}
