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

  @Test func `who sleeps for long does not hold up who sleeps for less`() async throws {
    let timepiece = try SystemTimepiece()
    let long = Task { try await timepiece.sleep(until: timepiece.now.advanced(by: .seconds(3600))) }
    try await timepiece.sleep(until: timepiece.now.advanced(by: .milliseconds(1)))
    long.cancel()
    await #expect(throws: CancellationError.self) { try await long.value }
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
