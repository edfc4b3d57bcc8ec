import Glibc
import Synchronization

/// The threads on which the daemon's tasks run.
///
/// Swift's own pool on Linux looks after its threads once a second for as long as the process lives. These sleep until
/// there is something to do, so that a key that lies idle costs nothing. They live as long as the process.
///
/// A task that leaves an actor, or starts another and ends, goes on where it was: what a job leaves behind waits until it
/// pauses, and wakes no other thread for it. A job must therefore not block for long once it has started another.
final class Workers: TaskExecutor {
  private struct Line {
    var jobs: [UnownedJob] = []
    var sleepers = 0
    var threads: [pthread_t] = []
  }

  private let line = Mutex(Line())
  /// Raised once for each sleeper that is to wake; its memory stays where it is, as the C library wants it.
  private nonisolated(unsafe) let alarm: UnsafeMutablePointer<sem_t>

  /// Starts the threads; two, so that keepalives go on while one is in the store.
  init(count: Int = 2) throws(TransportError) {
    alarm = .allocate(capacity: 1)
    sem_init(alarm, 0, 0)
    for _ in 0..<count {
      var thread = pthread_t()
      let error = pthread_create(&thread, nil, runWorker, Unmanaged.passRetained(self).toOpaque())
      guard error == 0 else { throw TransportError("start a thread", errno: error) }
      pthread_detach(thread)
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let wakesSomebody = line.withLock { line in
      line.jobs.append(job)
      // The first job that waits needs nobody else when one of these threads has put it there: it looks here next.
      if line.jobs.count == 1, line.threads.contains(pthread_self()) { return false }
      guard line.sleepers > 0 else { return false }
      line.sleepers -= 1
      return true
    }
    if wakesSomebody { sem_post(alarm) }
  }

  fileprivate func run() -> Never {
    line.withLock { $0.threads.append(pthread_self()) }
    let executor = asUnownedTaskExecutor()
    while true {
      if let job = next() { job.runSynchronously(on: executor) } else { sleep() }
    }
  }

  /// The job that waits longest; `nil`, and this thread counts as a sleeper, when there is none.
  private func next() -> UnownedJob? {
    line.withLock { line in
      guard line.jobs.isEmpty else { return line.jobs.removeFirst() }
      line.sleepers += 1
      return nil
    }
  }

  /// Sleeps until it is this thread's turn to wake; a signal is not.
  private func sleep() { while sem_wait(alarm) != 0 {} }
}

/// What each thread runs; C calls it, so it is bound to no actor.
private func runWorker(_ workers: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let workers { Unmanaged<Workers>.fromOpaque(workers).takeUnretainedValue().run() }
  return nil
}
