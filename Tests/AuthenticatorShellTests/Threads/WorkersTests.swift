import Glibc
import Synchronization
import Testing

@testable import liquid_authenticator

struct WorkersTests {
  @Test func `tasks and the actors that they call run on the workers' threads`() async throws {
    actor Counter {
      var threads: Set<pthread_t> = []
      func note() { threads.insert(currentThread()) }
    }
    let workers = try Workers(count: 2)
    let counter = Counter()
    let tasks = (0..<50).map { _ in
      Task(executorPreference: workers) {
        await counter.note()
        await Task.yield()
        await counter.note()
        return currentThread()
      }
    }
    var threads: Set<pthread_t> = []
    for task in tasks { threads.insert(await task.value) }
    // A task may end on either, and the actor may have had the other to itself.
    threads.formUnion(await counter.threads)
    #expect((1...2).contains(threads.count))
    #expect(!threads.contains(currentThread()))
  }

  @Test func `what a task starts is done though nobody was woken for it`() async throws {
    let workers = try Workers(count: 2)
    let task = Task(executorPreference: workers) {
      let children = (0..<5).map { number in Task(executorPreference: workers) { number } }
      var sum = 0
      for child in children { sum += await child.value }
      return sum
    }
    #expect(await task.value == 10)
  }

  @Test func `one worker that is held up does not hold up the others`() async throws {
    let workers = try Workers(count: 2)
    let (ours, theirs) = try Descriptor.pair()
    let other = Descriptor(theirs)
    let held = Task(executorPreference: workers) { try other.read(waiting: -1) }
    let free = Task(executorPreference: workers) { 7 }
    #expect(await free.value == 7)
    try ours.write([1])
    #expect(try await held.value == [1])
  }
}

private func currentThread() -> pthread_t { pthread_self() }
