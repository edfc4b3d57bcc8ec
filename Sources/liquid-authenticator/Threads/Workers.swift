import Glibc
import Synchronization

/// The threads on which the daemon's tasks run.
///
/// Swift's own pool on Linux looks after its threads once a second for as long as the process lives. These sleep until
/// there is something to do, so that a key that lies idle costs nothing. They live as long as the process.
final class Workers: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  /// Counts the jobs that wait; its memory stays where it is, as the C library wants it.
  private nonisolated(unsafe) let waiting: UnsafeMutablePointer<sem_t>

  /// Starts the threads; two, so that keepalives go on while one is in the store.
  init(count: Int = 2) throws(TransportError) {
    waiting = .allocate(capacity: 1)
    sem_init(waiting, 0, 0)
    for _ in 0..<count {
      var thread = pthread_t()
      let error = pthread_create(&thread, nil, runWorker, Unmanaged.passRetained(self).toOpaque())
      guard error == 0 else { throw TransportError("start a thread", errno: error) }
      pthread_detach(thread)
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    sem_post(waiting)
  }

  fileprivate func run() -> Never {
    let executor = asUnownedTaskExecutor()
    while true {
      guard sem_wait(waiting) == 0 else { continue }
      if let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job.runSynchronously(on: executor) }
    }
  }
}

/// What each thread runs; C calls it, so it is bound to no actor.
private func runWorker(_ workers: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let workers { Unmanaged<Workers>.fromOpaque(workers).takeUnretainedValue().run() }
  return nil
}
