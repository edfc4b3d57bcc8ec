import CryptoPrimitives
import Glibc
package import ProcessIO

/// Reads and writes the messages over pipes; each call blocks.
package enum ProtectorPipe {
  /// Asks the program behind two pipes.
  ///
  /// - Parameters:
  ///   - input: the program's standard input. It stays open: when it is closed, the program ends.
  ///   - output: the program's standard output.
  ///   - touchNeeded: called each time that a security key waits for a touch.
  package static func ask(
    _ request: ProtectorRequest, input: Int32, output: Int32, until deadline: ContinuousClock.Instant,
    _ cancellation: Cancellation, touchNeeded: () -> Void = {}
  ) throws(ProtectorFailure) -> ProtectorAnswer {
    // A new pipe has room for it. If the program has ended, the read fails.
    Descriptor.write(request.encodedWithoutPIN, to: input)
    request.pin?.withUnsafeBytes { _ = Descriptor.write($0, to: input) }
    while true {
      let (kind, body) = try read(output, from: .protector, until: deadline, cancellation)
      switch kind {
      case 0:
        guard let answer = ProtectorAnswer(body, to: request) else { throw .malformed(.protector) }
        return answer
      case ProtectorMessage.touchKind where body.count == 0: touchNeeded()
      default: throw body.withUnsafeBytes { ProtectorFailure(kind: kind, body: $0) } ?? .malformed(.protector)
      }
    }
  }

  /// Reads the request; `nil` if there is none.
  package static func request(from input: Int32, until deadline: ContinuousClock.Instant) -> ProtectorRequest? {
    guard let (kind, body) = try? read(input, from: .protector, until: deadline, Cancellation()) else { return nil }
    return body.withUnsafeBytes { ProtectorRequest(kind: kind, body: $0) }
  }

  /// Writes that a security key waits for a touch.
  package static func touchNeeded(to output: Int32) {
    Descriptor.write(ProtectorMessage.header(kind: ProtectorMessage.touchKind, count: 0), to: output)
  }

  /// Writes the answer.
  package static func answer(_ answer: Result<ProtectorAnswer, ProtectorFailure>, to output: Int32) {
    switch answer {
    case .failure(let failure): Descriptor.write(failure.encoded, to: output)
    case .success(let answer):
      Descriptor.write(ProtectorMessage.header(kind: 0, count: answer.key.count + answer.data.count), to: output)
      answer.key.withUnsafeBytes { _ = Descriptor.write($0, to: output) }
      Descriptor.write(answer.data, to: output)
    }
  }

  /// Reads one message; its body goes straight into locked memory.
  ///
  /// - Parameter program: the program at one of the ends, for the words of a failure.
  static func read(
    _ descriptor: Int32, from program: AnsweringProgram, until deadline: ContinuousClock.Instant,
    _ cancellation: Cancellation
  ) throws(ProtectorFailure) -> (kind: UInt8, body: SecretBytes) {
    let header = try withWipedBytes(count: ProtectorMessage.headerSize) { bytes throws(ProtectorFailure) in
      try fill(bytes, from: descriptor, of: program, until: deadline, cancellation)
      return Array(bytes)
    }
    guard let (kind, count) = ProtectorMessage.parse(header: header) else { throw .malformed(program) }
    let body = try SecretBytes(count: count) { bytes throws(ProtectorFailure) in
      try fill(bytes, from: descriptor, of: program, until: deadline, cancellation)
    }
    return (kind, body)
  }

  private static func fill(
    _ bytes: UnsafeMutableRawBufferPointer, from descriptor: Int32, of program: AnsweringProgram,
    until deadline: ContinuousClock.Instant, _ cancellation: Cancellation
  ) throws(ProtectorFailure) {
    var filled = 0
    while filled < bytes.count {
      switch cancellation.wait(for: descriptor, POLLIN, until: deadline) {
      case .ready: break
      case .cancelled: throw ProtectorFailure(.failed, "it was cancelled")
      case .timedOut: throw ProtectorFailure(.failed, "\(program.rawValue) did not answer in time")
      }
      let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
      let count = Glibc.read(descriptor, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .ended(program) }
      filled += count
    }
  }
}
