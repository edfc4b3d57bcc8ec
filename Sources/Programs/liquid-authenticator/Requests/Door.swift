import Glibc

/// Where a request came in.
enum Door: Sendable, Equatable {
  /// The virtual device with this node, such as `/dev/hidraw3`; `nil` while it has none.
  case device(node: String?)
  /// The control socket, and the process that connected to it; `instance` is that of its ``ControlServerSocket/Peer``.
  case controlSocket(process: pid_t?, instance: UInt64 = 0)
  /// A browser on another computer, by a QR code; the process has the connection to it, and connected to the control socket.
  case anotherComputer(process: pid_t?, instance: UInt64 = 0)

  /// Marks a request of the control socket as one of another computer.
  mutating func isOfAnotherComputer() {
    guard case .controlSocket(let process, let instance) = self else { return }
    self = .anotherComputer(process: process, instance: instance)
  }

  /// A process that may have sent the request.
  struct Program: Sendable, Equatable {
    /// The content of `/proc/PID/comm`, which the process can change; completed by the name of its file.
    let name: String
    let process: pid_t
  }

  /// The processes that may have sent a request.
  struct Programs: Sendable, Equatable {
    /// The first three.
    var named: [Program] = []
    /// How many more there are.
    var others = 0
  }
}
