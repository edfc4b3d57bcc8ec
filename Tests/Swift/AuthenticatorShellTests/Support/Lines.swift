import ControlProtocol
import TestSupport

extension Lines {
  var addProblem: @Sendable (Problem) -> Void { { self.add($0.text) } }
}
