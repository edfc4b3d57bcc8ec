import CLinux
import CSeccomp
import Glibc
package import ProcessIO

/// The system calls that a process can still make after it has given up the rest (seccomp(2)).
///
/// The others fail with ENOSYS, as on a kernel that does not have them. No program can be started, no memory made
/// executable after it was written, and no socket made of a family that is not named. The filter does not see files: the
/// process can map and execute a file that it can write and read.
package struct SystemCallSandbox: Sendable {
  /// Allows a call whose arguments meet all conditions.
  private struct Rule {
    let call: String
    private(set) var conditions: [scmp_arg_cmp] = []

    init(call: String) { self.call = call }

    /// Restricts one argument: its bits of `mask` have this value.
    init(call: String, argument: UInt32 = 0, mask: UInt64, value: UInt64) {
      self.init(call: call)
      restrict(argument: argument, mask: mask, value: value)
    }

    mutating func restrict(argument: UInt32, mask: UInt64, value: UInt64) {
      conditions.append(scmp_arg_cmp(arg: argument, op: SCMP_CMP_MASKED_EQ, datum_a: mask, datum_b: value))
    }
  }

  private let families: [Int32]
  private let connects: Bool

  /// - Parameters:
  ///   - families: the address families of sockets, such as `AF_UNIX`.
  ///   - connects: whether sockets may connect, send without a connection, and ask about the network; a connection to the
  ///     session's bus can start programs.
  package init(families: [Int32], connects: Bool) { (self.families, self.connects) = (families, connects) }

  /// Gives up the rest, for all threads, and forbids new privileges.
  ///
  /// - Throws: the system's error number.
  package func enter() throws(SystemNumber) {
    guard let filter = seccomp_init(Self.errorAction | UInt32(ENOSYS)) else { throw SystemNumber(ENOMEM) }
    defer { seccomp_release(filter) }
    // For all threads; and as a tree, because the time for a list grows with the number of calls.
    try Self.check(seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1))
    _ = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2)
    for name in Self.calls { try Self.allow(Rule(call: name), in: filter) }
    for rule in Self.limited { try Self.allow(rule, in: filter) }
    for rule in Self.ofThisProcess { try Self.allow(rule, in: filter) }
    for family in families {
      for call in ["socket", "socketpair"] {
        // Sockets of these types send nothing before they are connected; a datagram can name any address.
        for type in connects ? [nil] : [SOCK_STREAM, SOCK_SEQPACKET] {
          var rule = Rule(call: call, mask: ~0, value: UInt64(family))
          if let type { rule.restrict(argument: 1, mask: Self.typeMask, value: UInt64(type.rawValue)) }
          try Self.allow(rule, in: filter)
        }
      }
    }
    if connects {
      try Self.allow(Rule(call: "connect"), in: filter)
      // GLib gives a later thread of a pool the scheduling of the first one.
      try Self.allow(Rule(call: "sched_setattr"), in: filter)
      let (packet, name, flags, address, index) = clinux_network_requests
      for request in [packet, name, flags, address, index] { try Self.allow(Self.ioctl(request), in: filter) }
    }
    try Self.check(seccomp_load(filter))
  }

  private static func allow(_ rule: Rule, in filter: scmp_filter_ctx) throws(SystemNumber) {
    let number = seccomp_syscall_resolve_name(rule.call)
    // A call that this machine, or this library, does not have.
    guard number >= 0 else { return }
    try check(seccomp_rule_add_array(filter, allowAction, number, UInt32(rule.conditions.count), rule.conditions))
  }

  private static func check(_ result: Int32) throws(SystemNumber) {
    guard result == 0 else { throw SystemNumber(-result) }
  }

  /// `SCMP_ACT_ERRNO(0)` and `SCMP_ACT_ALLOW`, macros that Swift does not import.
  private static let errorAction: UInt32 = 0x0005_0000
  private static let allowAction: UInt32 = 0x7FFF_0000
  /// `SOCK_TYPE_MASK` of the kernel: the type of a socket, without its flags.
  private static let typeMask: UInt64 = 0xF

  /// The limits of this process, and signals to its threads.
  private static var ofThisProcess: [Rule] {
    let process = UInt64(UInt32.max)
    return [
      Rule(call: "prlimit64", mask: process, value: 0),
      Rule(call: "tgkill", mask: process, value: UInt64(getpid())),
    ]
  }

  private static let limited: [Rule] = {
    var rules: [Rule] = []
    // Threads, but no processes. clone3 keeps its flags in memory, which no filter can read; glibc then uses clone.
    rules.append(Rule(call: "clone", mask: UInt64(CLONE_THREAD), value: UInt64(CLONE_THREAD)))
    // Memory that can be written or executed, but not both.
    let (write, execute) = (UInt64(PROT_WRITE), UInt64(PROT_EXEC))
    for call in ["mmap", "mmap2"] {
      rules.append(Rule(call: call, argument: 2, mask: execute, value: 0))
      rules.append(Rule(call: call, argument: 2, mask: write | execute, value: execute))
    }
    for call in ["mprotect", "pkey_mprotect"] { rules.append(Rule(call: call, argument: 2, mask: execute, value: 0)) }
    // Terminals, and the number of bytes that wait; not TIOCSTI, which types into a terminal.
    let terminals = [
      TCGETS, TCSETS, TCSETSW, TCSETSF, TCFLSH, TIOCGWINSZ, TIOCSWINSZ, TIOCGPGRP, TIOCSPGRP, TIOCSCTTY, TIOCNOTTY,
      FIONREAD, FIONBIO,
    ]
    let (number, unlock, peer) = clinux_pty_requests
    rules += terminals.map { ioctl(UInt32($0)) } + [number, unlock, peer].map(ioctl)
    return rules
  }()

  private static func ioctl(_ request: UInt32) -> Rule {
    Rule(call: "ioctl", argument: 1, mask: ~0, value: UInt64(request))
  }

  private static let calls: [String] = [
    // Files, below the directories that the file sandbox allows. That sandbox does not restrict changes of modes, times
    // and, before Linux 6.2, lengths by a path, so the calls for these are not allowed.
    """
    access close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate fchdir
    fchmod fchown fcntl fdatasync fgetxattr flistxattr flock fstat fstatfs fsync ftruncate getcwd getdents
    getdents64 getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch lgetxattr link linkat
    listxattr llistxattr lseek lstat mkdir mkdirat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64
    pwritev pwritev2 read readahead readlink readlinkat readv rename renameat renameat2 rmdir sendfile splice stat
    statfs statx sync_file_range umask unlink unlinkat write writev
    """,
    // Memory.
    """
    brk get_mempolicy madvise membarrier mincore mlock mlock2 mlockall mremap msync munlock munlockall munmap
    set_mempolicy
    """,
    // Waiting.
    """
    alarm clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_pwait
    epoll_pwait2 epoll_wait eventfd eventfd2 futex futex_waitv getitimer gettimeofday nanosleep pause poll ppoll
    pselect6 select setitimer time timer_create timer_delete timer_getoverrun timer_gettime timer_settime
    timerfd_create timerfd_gettime timerfd_settime
    """,
    // Sockets; `socket` and `socketpair` depend on the family.
    """
    accept accept4 bind getpeername getsockname getsockopt listen pipe pipe2 recvfrom recvmmsg recvmsg
    sendmmsg sendmsg sendto setsockopt shutdown
    """,
    // This process; `prlimit64` and `tgkill` have conditions. `kill` is needed to end pinentry.
    """
    arch_prctl capget exit exit_group get_robust_list get_thread_area getcpu getegid geteuid getgid getgroups
    getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid gettid
    getuid kill pidfd_open prctl restart_syscall riscv_flush_icache riscv_hwprobe rseq rt_sigaction rt_sigpending
    rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_get_priority_max sched_get_priority_min
    sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_setaffinity sched_yield
    set_robust_list set_thread_area set_tid_address setpgid setsid sigaltstack signalfd signalfd4 sysinfo times
    uname wait4 waitid
    """,
  ].flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
}
