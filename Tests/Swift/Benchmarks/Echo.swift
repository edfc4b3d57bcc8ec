import ArgumentParser
import CryptoPrimitives

/// The floor of a sign-in as a separate process: reads a request, signs once, and writes an answer.
///
/// The client first sends the length of both and the answer. The process parses neither.
struct Echo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Answers one client; used by measure.", shouldDisplay: false)

  @Argument(help: "Where to listen.")
  var path: String

  func run() throws {
    let key = try P256.PrivateKey.random()
    // The message that an assertion signs has this size: authenticator data and clientDataHash.
    let message = [UInt8](repeating: 1, count: 37 + 32)
    let client = try ReportSocket.accept(at: path)
    guard let counts = client.receive(count: 1)?.first, let answer = client.receive(count: Int(counts[1])) else {
      return
    }
    while client.skip(count: Int(counts[0])) {
      _ = try key.signature(for: message)
      answer.forEach(client.send)
    }
  }
}

/// An echo process, and the connection to it.
struct EchoFloor {
  private let process: ChildProcess
  private let socket: ReportSocket
  private let request: [[UInt8]]

  /// Starts a process that answers the request with the answer.
  init(_ programs: Programs, at path: String, request: [[UInt8]], answer: [[UInt8]]) throws(BenchmarkError) {
    process = try ChildProcess(programs.benchmarks, ["echo", path])
    socket = try ReportSocket.connect(to: path)
    self.request = request
    socket.send([UInt8(request.count), UInt8(answer.count)] + [UInt8](repeating: 0, count: 62))
    answer.forEach(socket.send)
  }

  func exchange() -> Bool { socket.exchange(request) }
}
