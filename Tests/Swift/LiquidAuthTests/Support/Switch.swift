import Synchronization

/// A flag that a test turns on and off.
final class Switch: Sendable {
  private let state = Mutex(false)

  var isOn: Bool { state.withLock { $0 } }
  func turnOn() { state.withLock { $0 = true } }
  func turnOff() { state.withLock { $0 = false } }
}
