import Synchronization

/// Something that has happened, or not yet.
final class Latch: Sendable {
  private let value = Atomic(false)

  /// It has happened.
  func set() { value.store(true, ordering: .releasing) }

  /// Whether it has happened.
  var isSet: Bool { value.load(ordering: .acquiring) }
}
