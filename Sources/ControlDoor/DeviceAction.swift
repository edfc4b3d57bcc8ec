import CBOR

/// What can be done to the device; on the wire {1: action}.
public enum DeviceAction: UInt64, Sendable, CaseIterable {
  /// It appears.
  case attach = 1
  /// It is gone, as if pulled out.
  case detach = 2
  /// Out and in again: all volatile state is lost, as after a power cycle.
  case replug = 3

  init(_ members: CBORMap) throws(ControlFailure) {
    let number = try told(members.requiredUnsigned(1))
    guard let action = Self(rawValue: number) else {
      throw ControlFailure(.invalidParameter, "no such device action: \(number)")
    }
    self = action
  }

  var members: CBORMap { [1: .unsigned(rawValue)] }
}
