import Glibc
import ProcessIO
import Testing

struct CancellationTests {
  @Test func `a wait ends on input, at the deadline, or at once if already cancelled`() throws {
    let ends = try Descriptor.pipe()
    let cancellation = Cancellation()
    let deadline = ContinuousClock.now + .milliseconds(30)
    #expect(cancellation.wait(for: ends.read, POLLIN, until: deadline) == .timedOut)
    #expect(deadline <= .now)
    write(ends.write, "x", 1)
    #expect(cancellation.wait(for: ends.read, POLLIN, until: deadline) == .ready)
    cancellation.cancel()
    #expect(cancellation.wait(for: ends.read, POLLIN, until: nil) == .cancelled)
    close(ends.read)
    close(ends.write)
  }
}
