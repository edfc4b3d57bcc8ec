/// Where a request came in.
package enum Door: Sendable, Equatable {
  /// The virtual device with this node, such as `/dev/hidraw3`; `nil` while it has none.
  case device(node: String?)
  /// The control socket, and the process that connected to it; `instance` tells it from a later process with the same
  /// number, where the system says that.
  case controlSocket(process: Int32?, instance: UInt64 = 0)
  /// A browser on another computer, by a QR code; the process has the connection to it, and connected to the control socket.
  case anotherComputer(process: Int32?, instance: UInt64 = 0)

  /// Marks a request of the control socket as one of another computer.
  package mutating func isOfAnotherComputer() {
    guard case .controlSocket(let process, let instance) = self else { return }
    self = .anotherComputer(process: process, instance: instance)
  }

  /// A process that may have sent the request.
  package struct Program: Sendable, Equatable {
    /// The content of `/proc/PID/comm`, which the process can change; completed by the name of its file.
    package let name: String
    package let process: Int32
  }

  /// The processes that may have sent a request.
  package struct Programs: Sendable, Equatable {
    /// The first three.
    package var named: [Program] = []
    /// How many more there are.
    package var others = 0
  }
}
