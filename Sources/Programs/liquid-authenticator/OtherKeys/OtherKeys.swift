import EventLoop
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
  /// `HIDRawNode.device`.
  let device: String

  /// Its name, or its node if it reports none.
  var nameOrNode: String { name.isEmpty ? node : name }

  /// For example `/dev/hidraw4 Example Key`.
  var description: String { name.isEmpty ? node : "\(node) \(name)" }

  init(node: String, name: String, device: String) {
    self.node = node
    self.name = name
    self.device = device
  }

  /// `nil` for a node that is not a FIDO key, or belongs to a `liquid-authenticator`.
  init?(_ node: HIDRawNode) {
    guard node.isSecurityKey, UHIDIdentity.Maker(rawValue: node.place) == nil else { return nil }
    self.init(node: node.path, name: node.name, device: node.device)
  }

  /// Returns the other keys that are plugged in now.
  @Sendable static func pluggedIn() -> [OtherKey] { HIDRawNode.all().compactMap(OtherKey.init) }
}

/// Reports all other keys each time one is plugged in or removed.
///
/// Each node that appears or disappears in `/dev` starts a new search for all keys, so a missed event does no lasting
/// harm, and the order of events does not matter. Between two events it causes no wake-up.
final class OtherKeysWatch: Polled {
  /// All other keys after an event; only the latest value is kept.
  let changes: AsyncStream<[OtherKey]>

  private let continuation: AsyncStream<[OtherKey]>.Continuation
  /// inotify(7) for `/dev`.
  private let nodes: Int32
  private let watch = Mutex<EventLoop.Watch?>(nil)

  /// Watches `/dev`, until `stop`.
  init(on loop: EventLoop) throws(TransportError) {
    nodes = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    guard nodes >= 0, inotify_add_watch(nodes, "/dev", UInt32(IN_CREATE | IN_DELETE)) >= 0 else {
      let number = errno
      if nodes >= 0 { close(nodes) }
      throw TransportError("watch /dev for other keys", errno: number, hint: "omit --beside-hardware-key")
    }
    (changes, continuation) = AsyncStream.makeStream(of: [OtherKey].self, bufferingPolicy: .bufferingNewest(1))
    watch.withLock { $0 = loop.watch(self) }
  }

  /// Ends `changes`.
  func stop() {
    guard let watch = watch.withLock({ $0.take() }) else { return }
    watch.stop()
    close(nodes)
    continuation.finish()
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    descriptors.append(.readable(nodes))
    return -1
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    guard descriptors.contains(where: \.isReadable) else { return }
    var events = [UInt8](repeating: 0, count: 4096)
    while read(nodes, &events, events.count) > 0 {}
    continuation.yield(OtherKey.pluggedIn())
  }
}
