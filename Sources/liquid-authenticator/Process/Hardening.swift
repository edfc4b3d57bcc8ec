import CLinux
import Glibc

/// What a process that holds secrets forbids itself, before anything else.
enum Hardening {
  /// No core dumps, no reading of our memory by programs of the same user, private files, no death by a closed pipe.
  static func apply() throws(TransportError) {
    umask(0o077)
    signal(SIGPIPE, SIG_IGN)
    guard clinux_forbid_dumps() == 0 else { throw TransportError("forbid core dumps", errno: errno) }
  }
}
