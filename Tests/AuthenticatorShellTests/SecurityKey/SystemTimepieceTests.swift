import CTAPHID
import Testing

@testable import liquid_authenticator

struct SystemTimepieceTests {
  @Test func `a sleeper wakes when its time has come, not before`() async throws {
    let timepiece = try SystemTimepiece()
    let deadline = timepiece.now.advanced(by: .milliseconds(20))
    try await timepiece.sleep(until: deadline)
    #expect(timepiece.now >= deadline)
  }

  @Test func `who sleeps for less wakes first, whoever began first`() async throws {
    let timepiece = try SystemTimepiece()
    let start = timepiece.now
    let order = await withTaskGroup(of: Int.self) { group in
      for milliseconds in [60, 1, 30] {
        group.addTask {
          try? await timepiece.sleep(until: start.advanced(by: .milliseconds(milliseconds)))
          return milliseconds
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(order == [1, 30, 60])
  }

  @Test func `a time that is over is no sleep`() async throws {
    let timepiece = try SystemTimepiece()
    try await timepiece.sleep(until: Instant(nanoseconds: 0))
  }

  @Test func `cancelling a sleeper wakes it at once`() async throws {
    let timepiece = try SystemTimepiece()
    let sleeper = Task { try await timepiece.sleep(until: timepiece.now.advanced(by: .seconds(3600))) }
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
  }
}
