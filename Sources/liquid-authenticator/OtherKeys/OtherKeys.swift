import Glibc
import Synchronization
import UHID

/// A FIDO key that is plugged in beside ours.
///
/// A device of any `liquid-authenticator` does not count: two of them would step aside for each other for ever.
struct OtherKey: Equatable, Sendable {
  /// `/dev/hidrawN`.
  let node: String
  /// The name that it reports.
  let name: String

  /// For example `/dev/hidraw4 Example Key`.
  var description: String { name.isEmpty ? node : "\(node) \(name)" }

  init(node: String, name: String) {
    self.node = node
    self.name = name
  }

  /// `nil` for a node that is not a FIDO key, or belongs to a `liquid-authenticator`.
  init?(_ node: HIDRawNode) {
    guard node.isSecurityKey, UHIDIdentity.Maker(rawValue: node.place) == nil else { return nil }
    self.init(node: node.path, name: node.name)
  }

  /// Returns the other keys that are plugged in now.
  @Sendable static func pluggedIn() -> [OtherKey] { HIDRawNode.all().compactMap(OtherKey.init) }
}

/// Reports all other keys each time one is plugged in or removed.
///
/// Each udev event starts a new search for all keys, so a missed event does no lasting harm, and the order of events
/// does not matter. Between two events nothing wakes.
final class OtherKeysWatch: Polled {
  /// All other keys after an event; only the latest value is kept.
  let changes: AsyncStream<[OtherKey]>

  private let continuation: AsyncStream<[OtherKey]>.Continuation
  private let monitor: HIDRawMonitor
  private let watch = Mutex<EventLoop.Watch?>(nil)

  /// Listens to udev, until `stop`.
  init(on loop: EventLoop) throws(TransportError) {
    guard let monitor = HIDRawMonitor() else {
      throw TransportError("cannot listen to udev, which reports other keys; omit --beside-hardware-key")
    }
    self.monitor = monitor
    (changes, continuation) = AsyncStream.makeStream(of: [OtherKey].self, bufferingPolicy: .bufferingNewest(1))
    watch.withLock { $0 = loop.watch(self) }
  }

  /// Ends `changes`.
  func stop() {
    watch.withLock { $0.take() }?.stop()
    continuation.finish()
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    descriptors.append(.readable(monitor.descriptor))
    return -1
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    guard descriptors.contains(where: \.isReadable) else { return }
    while monitor.next() != nil {}
    continuation.yield(OtherKey.pluggedIn())
  }
}
