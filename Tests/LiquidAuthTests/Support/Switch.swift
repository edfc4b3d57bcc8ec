import Synchronization

/// Something that is turned on, and off again, in the middle of a test.
final class Switch: Sendable {
  private let state = Mutex(false)

  var isOn: Bool { state.withLock { $0 } }
  func turnOn() { state.withLock { $0 = true } }
  func turnOff() { state.withLock { $0 = false } }
}
