import Glibc

/// SIGINT, SIGTERM and SIGHUP, taken by the main thread.
///
/// They must be blocked before the first other thread starts, which inherits that.
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

  /// Takes back what holds for this thread, before another program runs in it.
  static func release() {
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    signal(SIGPIPE, SIG_DFL)
  }

  /// Sleeps until one comes.
  func wait() {
    var set = set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
  }
}
