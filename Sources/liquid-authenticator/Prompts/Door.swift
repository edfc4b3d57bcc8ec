import DisplayText
import Glibc

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
  func lines(_ programs: [Program]) -> [String] {
    let door =
      switch self {
      case .device: "Asked through: the security-key device"
      case .controlSocket: "Asked through: the control socket"
      }
    guard !programs.isEmpty else { return [door] }
    let names = programs.map { "\(DisplayText.name($0.name)) (process \($0.process))" }
    return [door] + WalletText.wrapped("Perhaps by: \(names.joined(separator: ", "))")
  }
}
