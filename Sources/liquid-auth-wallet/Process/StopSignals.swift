import Glibc

/// SIGINT, SIGTERM and SIGHUP, as an order to stop.
///
/// They are blocked before the first other thread starts, which inherits that; one thread waits for them.
struct StopSignals {
  private let set: sigset_t

  /// Blocks them in this thread and in those that it starts.
  init() {
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    self.set = set
  }

  /// Calls `stop` at the first signal, on a thread of its own; the second ends the process.
  func onFirst(_ stop: @escaping @Sendable () -> Void) {
    let waiting = Unmanaged.passRetained(Waiting(set: set, stop: stop))
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Waiting>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, waiting.toOpaque())
    pthread_detach(thread)
  }
}

/// What the thread that waits for signals knows.
private final class Waiting: Sendable {
  private let set: sigset_t
  private let stop: @Sendable () -> Void

  init(set: sigset_t, stop: @escaping @Sendable () -> Void) {
    self.set = set
    self.stop = stop
  }

  func run() {
    next()
    stop()
    next()
    _exit(WalletFailure.Code.interrupted.rawValue)
  }

  private func next() {
    var set = set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
  }
}
