import CLinux
import Glibc
import ProcessIO
import Synchronization

/// Makes Ctrl-C and the other signals that would end the process end a wait instead.
struct EndingSignals {
  /// What the handler may use: a cancellation's descriptor.
  private static let descriptor = Atomic<Int32>(-1)
  private let ending: Cancellation
  private var before: [(number: Int32, action: sigaction)] = []

  /// - Parameter ending: what the signals cancel.
  init(_ ending: Cancellation) {
    self.ending = ending
    Self.descriptor.store(ending.descriptor, ordering: .relaxed)
    var handling = sigaction()
    sigfillset(&handling.sa_mask)
    handling.sa_flags = SA_RESTART
    handling.__sigaction_handler.sa_handler = { _ in eventfd_write(EndingSignals.descriptor.load(ordering: .relaxed), 1)
    }
    var ignoring = sigaction()
    ignoring.__sigaction_handler.sa_handler = SIG_IGN
    // A peer that closes its connection must not end the process; a result that cannot be written must be an error.
    for (number, action) in [(SIGINT, handling), (SIGTERM, handling), (SIGHUP, handling), (SIGPIPE, ignoring)] {
      var (action, earlier) = (action, sigaction())
      sigaction(number, &action, &earlier)
      before.append((number, earlier))
    }
  }

  /// Handles the signals as before.
  func restore() {
    for (number, action) in before {
      var action = action
      sigaction(number, &action, nil)
    }
    // Until now a handler could use its descriptor.
    withExtendedLifetime(ending) {}
  }
}
