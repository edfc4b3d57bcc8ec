import CBOR

/// What can be done to the device; on the wire {1: action}.
public enum DeviceAction: UInt64, Sendable, CaseIterable {
  /// It appears.
  case attach = 1
  /// It is gone, as if pulled out.
  case detach = 2
  /// Out and in again: tokens, channels and all that one request leaves for the next are lost.
  case replug = 3
  /// Out and in again as after a power cycle: for ten seconds a reset is taken, and wrong PINs in a row are forgotten.
  /// Needs the passphrase on this connection.
  case powerCycle = 4

  init(_ members: CBORMap) throws(ControlFailure) {
    let number = try told(members.requiredUnsigned(1))
    guard let action = Self(rawValue: number) else {
      throw ControlFailure(.invalidParameter, "no such device action: \(number)")
    }
    self = action
  }

  var members: CBORMap { [1: .unsigned(rawValue)] }
}
