import CryptoPrimitives
import Glibc
import ProcessIO
import Testing

@testable import ProtectorProtocol

@Suite struct ProtectorMessageTests {
  private static let id = [UInt8](0xA0...0xAF)
  private static let get = ProtectorRequest(.get, type: 4, data: id)

  // MARK: Bytes

  @Test func `a request has a header, the slot's type and its public data`() {
    #expect(Self.get.encoded == [1, 2, 0, 17, 4] + Self.id)
    #expect(ProtectorRequest(.make, type: 255, data: []).encoded == [1, 1, 0, 1, 255])
    let long = ProtectorRequest(.delete, type: 4, data: [UInt8](repeating: 0, count: 300))
    #expect(long.encoded.prefix(5) == [1, 3, 1, 45, 4])
  }

  @Test func `a failure has its kind and printable words`() {
    #expect(ProtectorFailure(.dismissed, "no").encoded == [1, 2, 0, 2, 0x6E, 0x6F])
    #expect(ProtectorFailure(.absent, "a\né").encoded == [1, 1, 0, 3, 0x61, 0x3F, 0x3F])
    let long = ProtectorFailure(.failed, String(repeating: "a", count: 2000)).encoded
    #expect(long.count == 4 + 1024 && long.prefix(4) == [1, 4, 4, 0])
  }

  // Holds: PROTECT-1
  @Test(arguments: [[], [1, 2, 0], [0, 2, 0, 17], [2, 2, 0, 17], [1, 2, 4, 1], [1, 2, 255, 255]] as [[UInt8]])
  func `a header of another version, or of a body that is too long, is refused`(header: [UInt8]) {
    #expect(ProtectorMessage.parse(header: header) == nil)
  }

  // Holds: PROTECT-1
  @Test func `unknown operations and kinds, and words that are not printable, are refused`() {
    for kind in [0, 4, 255] as [UInt8] { #expect(ProtectorRequest(kind: kind, body: [4]) == nil) }
    #expect(ProtectorRequest(kind: 2, body: []) == nil)
    for kind in [0, 5, 255] as [UInt8] { #expect(ProtectorFailure(kind: kind, body: [0x61]) == nil) }
    for body in [[], [0x0A], [0x61, 0x1B], [0x7F], [0xC3, 0xA9]] as [[UInt8]] {
      #expect(ProtectorFailure(kind: 1, body: body) == nil)
    }
  }

  // MARK: Pipes

  /// Asks a program that answers with `pieces`, one write each.
  private func ask(_ request: ProtectorRequest, _ pieces: [[UInt8]], limit: Duration = .seconds(10)) throws
    -> Result<SecretBytes, ProtectorFailure>
  {
    let (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
    defer { for end in [input.read, input.write, output.read, output.write] { close(end) } }
    for piece in pieces { Descriptor.write(piece, to: output.write) }
    return Result { () throws(ProtectorFailure) in
      try ProtectorPipe.ask(
        request, input: input.write, output: output.read, until: .now + limit, Cancellation())
    }
  }

  @Test func `a key is read whole, and one byte at a time`() throws {
    let key = [UInt8](1...32)
    let answer = [1, 0, 0, 32] + key
    for pieces in [[answer], answer.map { [$0] }, [Array(answer.prefix(5)), Array(answer.dropFirst(5))]] {
      let read = try ask(Self.get, pieces).get()
      #expect(read.withUnsafeBytes { Array($0) } == key)
    }
    #expect(try ask(ProtectorRequest(.delete, type: 4, data: Self.id), [[1, 0, 0, 0]]).get().count == 0)
  }

  @Test(arguments: ProtectorFailure.Kind.allCases)
  func `every failure is read back`(kind: ProtectorFailure.Kind) throws {
    let failure = ProtectorFailure(kind, "the reason; what to do")
    let answer = try ask(Self.get, failure.encoded.map { [$0] })
    #expect(throws: failure) { try answer.get() }
  }

  // Holds: PROTECT-1
  @Test(arguments: [
    [1, 0, 0, 31] + [UInt8](1...31), [1, 0, 0, 33] + [UInt8](1...33), [1, 0, 0, 0], [1, 5, 0, 1, 0x61], [1, 1, 0, 0],
    [2, 0, 0, 32] + [UInt8](1...32), [1, 0, 4, 1],
  ])
  func `a malformed answer is refused`(bytes: [UInt8]) throws {
    let answer = try ask(Self.get, [bytes])
    #expect(throws: ProtectorFailure.malformed) { try answer.get() }
  }

  // Holds: PROTECT-1
  @Test func `an answer that ends early is refused, wherever it ends`() throws {
    let answer = [1, 0, 0, 32] + [UInt8](1...32)
    for count in 0..<answer.count {
      let (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
      defer { for end in [input.read, input.write, output.read] { close(end) } }
      Descriptor.write(answer.prefix(count), to: output.write)
      close(output.write)
      #expect(throws: ProtectorFailure.malformed) {
        try ProtectorPipe.ask(
          Self.get, input: input.write, output: output.read, until: .now + .seconds(10), Cancellation())
      }
    }
  }

  // Holds: PROTECT-2
  @Test func `a program that does not answer is given up at the deadline, or when the request is cancelled`() throws {
    let late = try ask(Self.get, [[1, 0, 0]], limit: .milliseconds(20))
    #expect(throws: ProtectorFailure(.failed, "liquid-auth-protector did not answer in time")) { try late.get() }
    let (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
    defer { for end in [input.read, input.write, output.read, output.write] { close(end) } }
    let cancellation = Cancellation()
    cancellation.cancel()
    #expect(throws: ProtectorFailure(.failed, "it was cancelled")) {
      try ProtectorPipe.ask(
        Self.get, input: input.write, output: output.read, until: .now + .seconds(10), cancellation)
    }
  }

  @Test func `the program reads the request that was written, one byte at a time`() throws {
    let input = try Descriptor.pipe()
    defer { close(input.read) }
    for byte in Self.get.encoded { Descriptor.write([byte], to: input.write) }
    close(input.write)
    #expect(ProtectorPipe.request(from: input.read, until: .now + .seconds(10)) == Self.get)
    #expect(ProtectorPipe.request(from: input.read, until: .now + .seconds(10)) == nil)
  }
}
