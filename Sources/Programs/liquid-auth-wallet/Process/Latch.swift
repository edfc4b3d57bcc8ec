import Synchronization

/// A flag that can only be set.
final class Latch: Sendable {
  private let value = Atomic(false)

  /// Sets the flag.
  func set() { value.store(true, ordering: .releasing) }

  /// Whether the flag is set.
  var isSet: Bool { value.load(ordering: .acquiring) }
}
