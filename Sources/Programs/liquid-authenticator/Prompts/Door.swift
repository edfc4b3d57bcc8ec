import DisplayText
import Glibc
import Messages

/// Where a request came in.
enum Door: Sendable, Equatable {
  /// The virtual device with this node, such as `/dev/hidraw3`; `nil` while it has none.
  case device(node: String?)
  /// The control socket, and the process that connected to it; `instance` is that of its ``ControlSocket/Peer``.
  case controlSocket(process: pid_t?, instance: UInt64 = 0)

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

  /// The lines of a dialog about the door, if it is not the device, and about the programs, if there are any.
  ///
  /// The programs are only a hint: a program can change its name, several can have the device open, and the number of a
  /// process that has ended can belong to another one.
  func lines(_ programs: Programs, in catalogue: Catalogue) -> [String] {
    let door =
      switch self {
      case .device: [Message]()
      case .controlSocket: [Message("Asked through: a program on this machine, not the security key")]
      }
    guard !programs.named.isEmpty else { return WalletText.wrapped(door, in: catalogue) }
    let names = programs.named.map { Message("\(DisplayText.name($0.name)) (process \($0.process))") }
    let (named, others) = (names.joined(by: ", "), programs.others)
    let all =
      others == 0
      ? named : Message("\(named) and \(others) other", plural: "\(named) and \(others) others", count: others)
    return WalletText.wrapped(door + [Message("Perhaps sent by: \(all)")], in: catalogue)
  }
}
