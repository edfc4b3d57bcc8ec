import Glibc

/// A child process; the last reference to it ends it.
final class ChildProcess {
  let id: pid_t
  private var hasEnded = false

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - input: its standard input, at most as much as a pipe holds.
  ///   - log: the file for its standard output and error.
  ///   - environment: variables in addition to those of this process.
  init(
    _ program: String, _ arguments: [String], input: String = "", log: String = "/dev/null",
    environment: [String] = []
  ) throws(BenchmarkError) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw .system("make a pipe") }
    defer { close(ends[0]) }
    _ = write(ends[1], input, input.utf8.count)
    close(ends[1])

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)

    var pointers = ([program] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup($0) }
    defer { (pointers + variables).forEach { free($0) } }
    var inherited = environ
    while let variable = inherited.pointee {
      variables.append(strdup(variable))
      inherited += 1
    }
    variables.append(nil)
    var id = pid_t()
    guard posix_spawn(&id, program, &actions, nil, &pointers, &variables) == 0 else {
      throw .system("start \(program)")
    }
    self.id = id
  }

  deinit { if !hasEnded { stop() } }

  /// Sends SIGTERM, and waits for the end.
  func stop() {
    kill(id, SIGTERM)
    _ = wait()
  }

  /// Waits until the program ends; returns its exit status, −1 for a signal.
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    hasEnded = true
    return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
  }
}

/// Runs a program to its end.
func run(_ program: String, _ arguments: [String], input: String = "", log: String) throws(BenchmarkError) {
  let status = try ChildProcess(program, arguments, input: input, log: log).wait()
  guard status == 0 else { throw BenchmarkError("\(program) ended with \(status); see \(log)") }
}

/// Runs `body` while this process and its children may use one processor only.
func onOneProcessor(_ body: () throws -> Void) throws {
  let all = ProcessStatus(of: getpid()).text("Cpus_allowed_list")
  try use(processors: String(all.prefix(while: \.isNumber)))
  defer { try? use(processors: all) }
  try body()
}

private func use(processors: String) throws(BenchmarkError) {
  try run("/usr/bin/taskset", ["--all-tasks", "--cpu-list", "--pid", processors, "\(getpid())"], log: "/dev/null")
}
