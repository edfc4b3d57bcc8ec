import CBOR
import CTAP2
import Testing

/// A request that must be refused or served: the changes to a valid one, and the status.
struct RequestCase: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let changes: [(CBORValue, CBORValue?)]
  let status: CTAPStatus

  init(_ description: String, _ key: CBORValue, _ value: CBORValue?, _ status: CTAPStatus) {
    self.init(description, [(key, value)], status)
  }

  init(_ description: String, _ changes: [(CBORValue, CBORValue?)], _ status: CTAPStatus) {
    testDescription = "\(description): \(status)"
    self.changes = changes
    self.status = status
  }
}
