/// The node that clients open, and who may open it.
struct DeviceNode: Equatable, Sendable {
  /// `/dev/hidrawN`, a socket or a terminal.
  let path: String
  /// Who may open it, in words.
  let access: String

  /// Examines an existing node.
  init(_ path: String) {
    self.path = path
    access = FileAccess(path)?.description ?? "no known user"
  }
}
