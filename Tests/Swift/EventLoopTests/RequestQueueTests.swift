import Synchronization
import Testing

@testable import EventLoop

struct RequestQueueTests {
  @Test func `requests are served one after another, in order`() async throws {
    let queue = RequestQueue<[Int]>([])
    let (gates, gate) = AsyncStream.makeStream(of: Void.self)
    let first = Task {
      try await queue.submit { served in
        for await _ in gates { break }
        served.append(1)
        return served
      }
    }
    // Only a request in the queue can come after the first.
    var others: [Task<[Int], any Error>] = []
    for number in 2...4 {
      let before = queue.waitingCount
      others.append(
        Task {
          try await queue.submit { served in
            served.append(number)
            return served
          }
        })
      while queue.waitingCount == before, queue.isTaken { await Task.yield() }
    }
    gate.yield()
    #expect(try await first.value == [1])
    #expect(try await others[2].value == [1, 2, 3, 4])
  }

  // Holds: CONTROL-18
  @Test func `requests of the device go before those of the control socket that wait`() async throws {
    let queue = RequestQueue<[String]>([])
    let (gates, gate) = AsyncStream.makeStream(of: Void.self)
    let first = Task { try await queue.submit { _ in for await _ in gates { break } } }
    while !queue.isTaken { await Task.yield() }
    var others: [Task<Void, any Error>] = []
    for (name, isOfDevice) in [("a", false), ("b", false), ("device 1", true), ("c", false), ("device 2", true)] {
      let before = queue.waitingCount
      others.append(Task { try await queue.submit(isOfDevice: isOfDevice) { $0.append(name) } })
      while queue.waitingCount == before { await Task.yield() }
    }
    gate.yield()
    try await first.value
    for other in others { try await other.value }
    #expect(try await queue.submit { $0 } == ["device 1", "device 2", "a", "b", "c"])
  }

  @Test func `a request withdrawn from the queue is not served, and the queue goes on`() async throws {
    let queue = RequestQueue<[Int]>([])
    let (gates, gate) = AsyncStream.makeStream(of: Void.self)
    let first = Task { try await queue.submit { _ in for await _ in gates { break } } }
    while !queue.isTaken { await Task.yield() }
    let withdrawn = Task { try await queue.submit { $0.append(2) } }
    while queue.waitingCount < 1 { await Task.yield() }
    withdrawn.cancel()
    await #expect(throws: CancellationError.self) { try await withdrawn.value }
    #expect(queue.waitingCount == 0)
    gate.yield()
    try await first.value
    #expect(try await queue.submit { $0 } == [])
  }

  @Test func `cancelling the task of a request cancels its work`() async throws {
    let queue = RequestQueue<Bool>(false)
    let task = Task {
      try await queue.submit { wasCancelled in
        while !Task.isCancelled { await Task.yield() }
        wasCancelled = true
      }
    }
    task.cancel()
    _ = try? await task.value
    while queue.isTaken { await Task.yield() }
  }

  @Test func `a task that is already cancelled takes no turn`() async {
    let queue = RequestQueue<Int>(0)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await queue.submit { $0 += 1 }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(queue.isTaken == false)
  }

  // Holds: WALLET-24
  @Test func `a copy has the state after the last request, and changing it changes nothing`() async throws {
    let queue = RequestQueue<Int>(0)
    try await queue.submit { served in
      served = 1
      var copy = queue.copy
      #expect(copy == 0)
      copy = 7
    }
    #expect(queue.copy == 1)
  }

  // MARK: Quiet

  /// Waits in the background until the queue is quiet for 30 seconds, at most ten minutes.
  private func quiet(_ queue: RequestQueue<Int>, _ clock: ManualClock) -> Task<Void, Never> {
    Task { await queue.quiet(for: .seconds(30), limit: .seconds(600), clock: clock) }
  }

  @Test func `each request begins the quiet time again, but at most for ten minutes`() async throws {
    let queue = RequestQueue<Int>(0)
    let clock = ManualClock()
    let quiet = quiet(queue, clock)
    for seconds in stride(from: 30, through: 600, by: 30) {
      await clock.sleeper(until: .seconds(seconds))
      try await queue.submit { _ in }
      clock.advance(by: .seconds(30))
    }
    await quiet.value
  }

  @Test func `after ten minutes only the requests in the queue are awaited`() async throws {
    let queue = RequestQueue<Int>(0)
    let clock = ManualClock()
    let (gates, gate) = AsyncStream.makeStream(of: Void.self)
    let open = Task { try await queue.submit { _ in for await _ in gates { break } } }
    while !queue.isTaken { await Task.yield() }
    let quiet = quiet(queue, clock)
    for seconds in stride(from: 30, through: 600, by: 30) {
      await clock.sleeper(until: .seconds(seconds))
      clock.advance(by: .seconds(30))
    }
    while queue.waitingCount == 0 { await Task.yield() }
    #expect(clock.sleeperCount == 0)
    gate.yield()
    try await open.value
    await quiet.value
  }
}
