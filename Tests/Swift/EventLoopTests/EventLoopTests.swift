import CTAPHID
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import EventLoop

struct EventLoopTests {
  @Test func `tasks and the actors they call run on the loop's thread`() async throws {
    actor Counter {
      var threads: Set<pthread_t> = []
      func note() { threads.insert(currentThread()) }
    }
    let loop = try EventLoop()
    let counter = Counter()
    let tasks = (0..<50).map { _ in
      Task(executorPreference: loop) {
        await counter.note()
        await Task.yield()
        await counter.note()
        return currentThread()
      }
    }
    var threads: Set<pthread_t> = []
    for task in tasks { threads.insert(await task.value) }
    threads.formUnion(await counter.threads)
    #expect(threads.count == 1)
    #expect(!threads.contains(currentThread()))
  }

  @Test func `work started by a task runs without a wake-up`() async throws {
    let loop = try EventLoop()
    let task = Task(executorPreference: loop) {
      let children = (0..<5).map { number in Task(executorPreference: loop) { number } }
      var sum = 0
      for child in children { sum += await child.value }
      return sum
    }
    #expect(await task.value == 10)
  }

  @Test func `a job that blocks another loop does not delay this one`() async throws {
    let (loop, other) = (try EventLoop(), try EventLoop())
    let (ours, theirs) = try Descriptor.pair()
    let end = Descriptor(theirs)
    let held = Task(executorPreference: other) { try end.read(waiting: -1) }
    let free = Task(executorPreference: loop) { 7 }
    #expect(await free.value == 7)
    try ours.write([1])
    #expect(try await held.value == [1])
  }

  @Test func `a sleeper wakes at its time, not before`() async throws {
    let clock = try EventLoop()
    let deadline = clock.now.advanced(by: .milliseconds(20))
    try await clock.sleep(until: deadline)
    #expect(clock.now >= deadline)
  }

  @Test func `a long sleep does not delay a shorter one`() async throws {
    let clock = try EventLoop()
    let long = Task { try await clock.sleep(until: clock.now.advanced(by: .seconds(3600))) }
    try await clock.sleep(until: clock.now.advanced(by: .milliseconds(1)))
    long.cancel()
    await #expect(throws: CancellationError.self) { try await long.value }
  }

  @Test func `a sleep until a past time returns at once`() async throws {
    let clock = try EventLoop()
    try await clock.sleep(until: Instant(nanoseconds: 0))
  }

  @Test func `cancelling a sleeper wakes it at once`() async throws {
    let clock = try EventLoop()
    let sleeper = Task { try await clock.sleep(until: clock.now.advanced(by: .seconds(3600))) }
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
  }
}

private func currentThread() -> pthread_t { pthread_self() }
