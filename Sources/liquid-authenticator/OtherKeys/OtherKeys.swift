import Glibc
import Synchronization

/// A FIDO key that is plugged in beside ours.
///
/// What an authenticator of ours has made is none, whoever runs it and wherever its state is: two of them would step
/// aside for each other for ever.
struct OtherKey: Equatable, Sendable {
  /// `/dev/hidrawN`.
  let node: String
  /// How it calls itself.
  let name: String

  /// For example `/dev/hidraw4 Example Key`.
  var description: String { name.isEmpty ? node : "\(node) \(name)" }

  init(node: String, name: String) {
    self.node = node
    self.name = name
  }

  /// `nil` for what is no FIDO key, and for our own.
  init?(_ node: HIDRawNode) {
    guard node.isSecurityKey, node.place != UHIDIdentity.place else { return nil }
    self.init(node: node.path, name: node.name)
  }

  /// Those that are there now.
  @Sendable static func pluggedIn() -> [OtherKey] { HIDRawNode.all().compactMap(OtherKey.init) }
}

/// Tells which other keys are plugged in, each time one has come or gone.
///
/// An event of udev's is no more than the occasion to look again at all that is there: none can be missed for good, and
/// their order does not matter. Between two events nothing wakes.
final class OtherKeysWatch: Polled {
  /// All that are there after an event, the latest only.
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
