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
