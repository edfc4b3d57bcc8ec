import Synchronization

/// Collects the lines that are logged.
package final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  package init() {}

  package var add: @Sendable (String) -> Void { { line in self.lines.withLock { $0.append(line) } } }
  package var all: [String] { lines.withLock { $0 } }
}
