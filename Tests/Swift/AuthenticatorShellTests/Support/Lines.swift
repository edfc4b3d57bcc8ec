import ControlProtocol
import Synchronization

/// Collects the lines that are logged.
final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  var add: @Sendable (String) -> Void { { line in self.lines.withLock { $0.append(line) } } }
  var addProblem: @Sendable (Problem) -> Void { { self.add($0.text) } }
  var all: [String] { lines.withLock { $0 } }
}
