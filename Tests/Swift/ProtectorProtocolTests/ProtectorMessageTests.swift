import CryptoPrimitives
import Glibc
import ProcessIO
import TestVectors
import Testing

@testable import ProtectorProtocol

@Suite struct ProtectorMessageTests {
  private static let id = [UInt8](0xA0...0xAF)
  private static let get = ProtectorRequest(.get, type: 4, data: id)

  private func secret(_ text: String) -> SecretBytes {
    SecretBytes(count: text.utf8.count) { $0.copyBytes(from: text.utf8) }
  }

  // MARK: Bytes

  @Test func `a request has a header, the slot's type and its public data`() {
    #expect(Self.get.encodedWithoutPIN == [2, 2, 0, 19, 4, 0, 16] + Self.id)
    #expect(ProtectorRequest(.make, type: 255, data: []).encodedWithoutPIN == [2, 1, 0, 3, 255, 0, 0])
    let long = ProtectorRequest(.delete, type: 4, data: [UInt8](repeating: 0, count: 300), pin: secret("1234"))
    #expect(long.encodedWithoutPIN.prefix(7) == [2, 3, 1, 51, 4, 1, 44] && long.encodedWithoutPIN.count == 307)
  }

  @Test func `a failure has its kind and printable words`() {
    #expect(ProtectorFailure(.dismissed, "no").encoded == [2, 2, 0, 2, 0x6E, 0x6F])
    #expect(ProtectorFailure(.absent, "a\né").encoded == [2, 1, 0, 3, 0x61, 0x3F, 0x3F])
    let long = ProtectorFailure(.failed, String(repeating: "a", count: 4000)).encoded
    #expect(long.count == 4 + 2048 && long.prefix(4) == [2, 4, 8, 0])
  }

  @Test func `a failure has its hint after its reason, if there is room for it`() {
    let failure = ProtectorFailure(.dismissed, "no", hint: "d\no")
    #expect(failure.encoded == [2, 2, 0, 6, 0x6E, 0x6F, 0x0A, 0x64, 0x3F, 0x6F] && failure.description == "no; d\no")
    for (count, size) in [(2045, 2048), (2046, 2048), (2047, 2047), (2048, 2048)] {
      let encoded = ProtectorFailure(.failed, String(repeating: "a", count: count), hint: "bcd").encoded
      #expect(encoded.count == 4 + size)
      let read = ProtectorFailure(kind: 4, body: encoded.dropFirst(4))
      #expect(read?.reason.count == count && read?.hint == [2045: "bc", 2046: "b"][count])
    }
  }

  // Holds: PROTECT-1
  @Test(arguments: [[], [2, 2, 0], [0, 2, 0, 17], [1, 2, 0, 17], [2, 2, 8, 1], [2, 2, 255, 255]] as [[UInt8]])
  func `a header of another version, or of a body that is too long, is refused`(header: [UInt8]) {
    #expect(ProtectorMessage.parse(header: header) == nil)
  }

  // Holds: PROTECT-1
  @Test func `unknown operations and kinds, and words that are not printable, are refused`() {
    for kind in [0, 5, 255] as [UInt8] { #expect(request(kind, [4, 0, 0]) == nil) }
    // Cut off, and a PIN that is too long.
    for body in [[], [4], [4, 0], [4, 0, 1], [4, 1, 0] + Self.id] as [[UInt8]] { #expect(request(2, body) == nil) }
    #expect(request(2, [4, 0, 0] + [UInt8](repeating: 1, count: 255))?.pin?.count == 255)
    #expect(request(2, [4, 0, 0] + [UInt8](repeating: 1, count: 256)) == nil)
    for kind in [0, 7, 255] as [UInt8] { #expect(ProtectorFailure(kind: kind, body: [0x61]) == nil) }
    for body in [
      [], [0x0A], [0x61, 0x0A], [0x0A, 0x61], [0x61, 0x0A, 0x61, 0x0A, 0x61], [0x61, 0x1B], [0x7F], [0xC3, 0xA9],
    ] as [[UInt8]] {
      #expect(ProtectorFailure(kind: 1, body: body) == nil)
    }
  }

  private func request(_ kind: UInt8, _ body: [UInt8]) -> ProtectorRequest? {
    body.withUnsafeBytes { ProtectorRequest(kind: kind, body: $0) }
  }

  // MARK: Pipes

  /// Asks a program that answers with `pieces`, one write each.
  private func ask(_ request: ProtectorRequest, _ pieces: [[UInt8]], limit: Duration = .patience) throws
    -> Result<ProtectorAnswer, ProtectorFailure>
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
    let answer = [2, 0, 0, 32] + key
    for pieces in [[answer], answer.map { [$0] }, [Array(answer.prefix(5)), Array(answer.dropFirst(5))]] {
      let read = try ask(Self.get, pieces).get()
      #expect(read.key.withUnsafeBytes { Array($0) } == key && read.data == [])
    }
    for operation in [.delete, .find] as [ProtectorRequest.Operation] {
      #expect(try ask(ProtectorRequest(operation, type: 4, data: Self.id), [[2, 0, 0, 0]]).get().key.count == 0)
      let answer = try ask(ProtectorRequest(operation, type: 4, data: Self.id), [[2, 0, 0, 1, 7]])
      #expect(throws: ProtectorFailure.malformed(.protector)) { try answer.get() }
    }
    let made = try ask(ProtectorRequest(.make, type: 2, data: []), [[2, 0, 0, 34] + key + [7, 8]]).get()
    #expect(made.key.withUnsafeBytes { Array($0) } == key && made.data == [7, 8])
    let counted = try ask(Self.counted, [[2, 0, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2]]).get()
    #expect(counted.key.count == 0 && counted.data == [0, 0, 0, 0, 0, 0, 1, 2])
  }

  private static let counted = ProtectorRequest(.get, type: ProtectorRequest.counterType, data: [1, 0x80, 0, 0, 1])

  // Holds: PROTECT-1
  @Test(arguments: [0, 7, 9, 32])
  func `the value of a counter has 8 bytes`(count: Int) throws {
    let answer = try ask(Self.counted, [[2, 0, 0, UInt8(count)] + [UInt8](repeating: 1, count: count)])
    #expect(throws: ProtectorFailure.malformed(.protector)) { try answer.get() }
  }

  @Test func `before the answer, a security key can wait for touches`() throws {
    let key = [UInt8](1...32)
    var touches = 0
    let (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
    defer { for end in [input.read, input.write, output.read, output.write] { close(end) } }
    ProtectorPipe.touchNeeded(to: output.write)
    Descriptor.write([2, 7, 0, 0], to: output.write)
    Descriptor.write([2, 0, 0, 32] + key, to: output.write)
    let answer = try ProtectorPipe.ask(
      Self.get, input: input.write, output: output.read, until: .now + .patience, Cancellation(),
      touchNeeded: { touches += 1 })
    #expect(answer.key.withUnsafeBytes { Array($0) } == key && touches == 2)
  }

  @Test(arguments: ProtectorFailure.Kind.allCases)
  func `every failure is read back`(kind: ProtectorFailure.Kind) throws {
    for hint in [nil, "what to do"] {
      let failure = ProtectorFailure(kind, "the reason; more of it", hint: hint)
      let answer = try ask(Self.get, failure.encoded.map { [$0] })
      #expect(throws: failure) { try answer.get() }
    }
  }

  // Holds: PROTECT-1
  @Test(arguments: [
    [2, 0, 0, 31] + [UInt8](1...31), [2, 0, 0, 33] + [UInt8](1...33), [2, 0, 0, 0], [2, 7, 0, 1, 0x61], [2, 1, 0, 0],
    [1, 0, 0, 32] + [UInt8](1...32), [2, 0, 8, 1],
  ])
  func `a malformed answer is refused`(bytes: [UInt8]) throws {
    let answer = try ask(Self.get, [bytes])
    #expect(throws: ProtectorFailure.malformed(.protector)) { try answer.get() }
  }

  // Holds: PROTECT-1
  @Test func `an answer that ends early is refused, wherever it ends`() throws {
    let answer = [2, 0, 0, 32] + [UInt8](1...32)
    for count in 0..<answer.count {
      let (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
      defer { for end in [input.read, input.write, output.read] { close(end) } }
      Descriptor.write(answer.prefix(count), to: output.write)
      close(output.write)
      #expect(throws: ProtectorFailure.ended(.protector)) {
        try ProtectorPipe.ask(
          Self.get, input: input.write, output: output.read, until: .now + .patience, Cancellation())
      }
    }
  }

  // Holds: PROTECT-2
  @Test func `a program that does not answer is given up at the deadline, or when the request is cancelled`() throws {
    let late = try ask(Self.get, [[2, 0, 0]], limit: .milliseconds(20))
    #expect(throws: ProtectorFailure(.failed, "liquid-auth-protector did not answer in time")) { try late.get() }
    let (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
    defer { for end in [input.read, input.write, output.read, output.write] { close(end) } }
    let cancellation = Cancellation()
    cancellation.cancel()
    #expect(throws: ProtectorFailure(.failed, "it was cancelled")) {
      try ProtectorPipe.ask(
        Self.get, input: input.write, output: output.read, until: .now + .patience, cancellation)
    }
  }

  @Test func `the program reads the request that was written, one byte at a time`() throws {
    let input = try Descriptor.pipe()
    defer { close(input.read) }
    for byte in Self.get.encodedWithoutPIN { Descriptor.write([byte], to: input.write) }
    for byte in ProtectorRequest(.get, type: 2, data: [9], pin: secret("1234")).encodedWithoutPIN + Array("1234".utf8) {
      Descriptor.write([byte], to: input.write)
    }
    close(input.write)
    let first = ProtectorPipe.request(from: input.read, until: .now + .patience)
    #expect(first?.operation == .get && first?.type == 4 && first?.data == Self.id && first?.pin == nil)
    let second = ProtectorPipe.request(from: input.read, until: .now + .patience)
    #expect(second?.type == 2 && second?.data == [9] && second?.pin?.isEqual(to: secret("1234")) == true)
    #expect(ProtectorPipe.request(from: input.read, until: .now + .patience) == nil)
  }
}
