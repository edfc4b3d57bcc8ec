import DisplayText
import Glibc
import Messages

/// Where a request came in.
enum Door: Sendable, Equatable {
  /// The device at this node; `nil` while it has none.
  case device(node: String?)
  /// The control socket, and the process that connected to it.
  case controlSocket(process: pid_t?)

  /// The door of the request that the task serves; `nil` for what the daemon does by itself.
  @TaskLocal static var current: Door?

  /// A process that may have made the request.
  struct Program: Sendable, Equatable {
    /// `/proc/PID/comm`: a text that the process chooses.
    let name: String
    let process: pid_t
  }

  /// The lines of a dialog about the door and the programs.
  ///
  /// The programs are advice: a program chooses its name, several may have the device open, and a process may have ended
  /// and given its number to another.
  func lines(_ programs: [Program], in catalogue: Catalogue) -> [String] {
    let door =
      switch self {
      case .device: Message("Asked through: the security-key device")
      case .controlSocket: Message("Asked through: the control socket")
      }
    guard !programs.isEmpty else { return [catalogue.text(door)] }
    let names = programs.map { Message("\(DisplayText.name($0.name)) (process \($0.process))") }
    return WalletText.wrapped([door, Message("Perhaps by: \(names.joined(by: ", "))")], in: catalogue)
  }
}
