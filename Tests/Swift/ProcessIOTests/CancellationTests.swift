import Glibc
import ProcessIO
import TestSupport
import Testing

struct CancellationTests {
  @Test func `a wait ends on input, after its deadline, or when it is cancelled`() async throws {
    let ends = try Descriptor.pipe()
    defer {
      close(ends.read)
      close(ends.write)
    }
    let (cancellation, past) = (Cancellation(), ContinuousClock.now)
    #expect(cancellation.wait(for: ends.read, POLLIN, until: past) == .timedOut)
    let isReady = BlockingWork { cancellation.wait(for: ends.read, POLLIN, until: nil) == .ready }
    write(ends.write, "x", 1)
    #expect(try await isReady.value)
    #expect(cancellation.wait(for: ends.read, POLLIN, until: past) == .ready, "input comes before a deadline")
    let isCancelled = BlockingWork { cancellation.wait(for: -1, 0, until: nil) == .cancelled }
    cancellation.cancel()
    #expect(try await isCancelled.value)
    #expect(cancellation.wait(for: ends.read, POLLIN, until: past) == .cancelled, "a cancellation comes before input")
  }
}
