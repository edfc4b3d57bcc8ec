import Glibc
import ProcessIO
import Prompts
import Sandbox
import StateDirectory
import UHID

/// What the daemon can still do after its start: use its own directories, its device, and the sockets that it has or
/// listens at.
///
/// It can then read no home directory except its state directory, start no program, and make no connection: a
/// ``HelperProcess`` starts the prompts and connects to the broker.
enum DaemonSandbox {
  /// Removes sockets that a crash left, and enters the sandbox; the calling thread must be the only one.
  ///
  /// - Returns: lines for the log, about what this kernel does not restrict.
  /// - Throws: an error if another program listens at a socket's path.
  static func enter(
    _ options: DaemonOptions, directory: StateDirectory, controlPath: String
  ) throws(TransportError) -> [String] {
    try ControlServerSocket.removeStale(at: controlPath)
    if case .unix(let path) = options.transport { try UnixSocketTransport.removeStale(at: path) }
    var files = FileSandbox()
    // OtherKeysWatch.
    files.allow(.list, "/dev")
    files.allow(.write, directory.path)
    files.allow(.write, parent(of: controlPath))
    switch options.transport {
    case .broker: break
    case .uhid: files.allow(.write, UHIDConnection.path)
    case .unix(let path): files.allow(.write, parent(of: path))
    case .pty: terminals(in: &files)
    }
    let mayUseTerminal = options.prompt == .auto && ControllingTerminal.name != nil
    if options.prompt == .terminal || mayUseTerminal { terminals(in: &files) }
    var problems: [String] = []
    do throws(SystemNumber) {
      try files.enter()
    } catch {
      problems.append("this kernel cannot restrict the files that the authenticator opens (Landlock): \(error)")
    }
    do throws(SystemNumber) {
      try SystemCallSandbox(families: [AF_UNIX], connects: false).enter()
    } catch {
      problems.append("this kernel cannot restrict the authenticator's system calls (seccomp): \(error)")
    }
    return problems
  }

  private static func terminals(in files: inout FileSandbox) {
    for path in ["/dev/tty", "/dev/ptmx", "/dev/pts"] { files.allow(.write, path) }
    // The controlling terminal may be a console.
    ControllingTerminal.name.map { files.allow(.write, $0) }
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
