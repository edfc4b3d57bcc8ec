/// What clients open, and who may.
struct DeviceNode: Equatable, Sendable {
  /// `/dev/hidrawN`, a socket or a terminal.
  let path: String
  /// Who may open it, in words.
  let access: String

  /// Looks at a node that is there.
  init(_ path: String) {
    self.path = path
    access = FileAccess(path)?.description ?? "no known user"
  }
}
