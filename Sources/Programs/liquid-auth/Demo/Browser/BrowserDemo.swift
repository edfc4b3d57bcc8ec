import Glibc
import ProcessIO

/// `liquid-auth demo --browser` and `--dapp`: serves a page until the user ends it, and prints what happened.
struct BrowserDemo: Sendable {
  /// The demo ends after this time without a request.
  static let idleTimeout = Duration.seconds(15 * 60)

  /// How long to wait for a failure of xdg-open, which on some desktops is the browser itself.
  private static let openingTime = Duration.seconds(2)

  /// 0 for a free port.
  let port: Int
  /// Whether to open the user's browser.
  let opensBrowser: Bool
  let isJSON: Bool

  /// Runs the demo, and prints the results.
  func run() throws(CommandFailure) -> DemoResults {
    let site = try show { [isJSON] port in DemoSite(port: port, at: .now) { $0.write(isJSON: isJSON) } }
    report(site.results)
    return site.results
  }

  /// Does the same with a wallet.
  func runDApp() throws(CommandFailure) -> DAppResults {
    let site = try show { [isJSON] port in DAppSite(port: port, at: .now) { $0.write(isJSON: isJSON) } }
    report(site.results)
    return site.results
  }

  /// Serves a site, which is made for its port, until the user ends it.
  func show<Site: DemoWebSite>(_ make: (Int) -> Site) throws(CommandFailure) -> Site {
    let ending = Cancellation()
    let signals = EndingSignals(ending)
    defer { signals.restore() }
    let server = try DemoServer(port: port)
    let site = make(server.port)
    server.serve(site) { ending.cancel() }
    announce(site.address)
    Self.wait(for: ending, site)
    server.close()
    return site
  }

  private func announce(_ url: String) {
    let invitation =
      !opensBrowser
      ? "open this page in a browser on this machine"
      : Self.open(url) ? "opening this page in your browser" : "no browser could be opened; open this page yourself"
    if isJSON {
      writeResult((["event": "listening", "url": .string(url)] as JSON).line, isJSON: true)
    } else {
      writeResult(
        """
        \(invitation): \(url)
        the demo ends with "Done" in the page, with Ctrl-C here, or after 15 minutes without a request
        """, isJSON: false)
    }
  }

  private func report(_ results: some DemoTotals) {
    let finished: JSON = ["event": "finished"]
    writeResult(isJSON ? finished.adding(results.json).line : results.text, isJSON: isJSON)
  }

  /// Opens the page with xdg-open; returns `false` without a desktop, or if xdg-open fails.
  private static func open(_ url: String) -> Bool {
    guard ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environmentVariable($0) != nil }) else { return false }
    let null = Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
    guard null >= 0 else { return false }
    defer { close(null) }
    guard let process = try? Child.start(["xdg-open", url], input: null, output: null, errorOutput: null) else {
      return false
    }
    let deadline = ContinuousClock.now + openingTime
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) == 0 {
      guard deadline > .now else { return true }
      usleep(20_000)
    }
    return status == 0
  }

  /// Waits for the end, or until the page was idle for too long; it blocks the thread.
  static func wait(for ending: Cancellation, _ site: some DemoWebSite) {
    while ending.wait(for: -1, Int32(POLLIN), until: site.lastRequest + idleTimeout) != .cancelled,
      site.lastRequest + idleTimeout > .now
    {}
  }
}

// MARK: - Output

extension DemoEvent {
  /// Prints it.
  func write(isJSON: Bool) { writeResult(isJSON ? json.line : lines.joined(separator: "\n"), isJSON: isJSON) }

  /// For people, as ``Transcript`` shows the other demo.
  var lines: [String] {
    switch self {
    case .verified(let step, let verdict):
      [Transcript.line(.step(step.title), isFirst: false)]
        + verdict.facts.map { Transcript.line(.note("\($0.name): \($0.value)".printable), isFirst: false) }
        + verdict.checks.map { Transcript.line(.check($0.name.printable, holds: $0.holds), isFirst: false) }
    case .unfinished(let step, let reason):
      [
        Transcript.line(.step(step.title), isFirst: false),
        Transcript.line(.note(reason.printable), isFirst: false),
      ]
    }
  }

  /// `{"event": "verified", "ceremony", "holds", "checks": […], "facts": […]}` or
  /// `{"event": "unfinished", "ceremony", "reason"}`.
  var json: JSON {
    switch self {
    case .verified(let ceremony, let verdict):
      (["event": "verified", "ceremony": .string(ceremony.rawValue)] as JSON).adding(verdict.json)
    case .unfinished(let ceremony, let reason):
      ["event": "unfinished", "ceremony": .string(ceremony.rawValue), "reason": .string(reason)]
    }
  }
}

extension DemoTotals {
  /// How many digits of an id name a passkey on the command line; ids are random after their first byte.
  private static var digits: Int { 12 }

  /// For people: the totals, and how to delete what the demo has stored.
  var text: String {
    let all = "\(checks) \(checks == 1 ? "check" : "checks")"
    let verdict =
      failures > 0
      ? "\(failures) of \(all) failed"
      : holds ? "all \(all) succeeded" : "no check failed, but a demo needs \(Self.needs)"
    return "\n\(verdict)" + (storedIDs.isEmpty ? "" : "\n\(Self.removal(of: storedIDs))")
  }

  /// How to delete test passkeys.
  private static func removal(of ids: [[UInt8]]) -> String {
    let commands = ids.map { "  liquid-auth credentials remove \($0.hexadecimal.prefix(digits))" }
    let (passkeys, them) = ids.count == 1 ? ("passkey is", "it") : ("passkeys are", "them")
    return """
      the test \(passkeys) still on your key; to delete \(them):
      \(commands.joined(separator: "\n"))
      for those of earlier demos, see "localhost" in: liquid-auth credentials list
      """
  }
}

extension JSON {
  /// This object with the members of another one after its own.
  func adding(_ other: JSON) -> JSON {
    guard case .object(let members) = self, case .object(let more) = other else { return self }
    return .object(members + more)
  }
}
