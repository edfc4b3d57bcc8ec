import ControlProtocol
import CryptoPrimitives
import Foundation
import Glibc
import StateDirectory
import Testing

@testable import ControlClient

// Holds: DAPP-16
/// A wait for an authenticator that does not answer can be cancelled from another thread, at any step.
@Suite(.serialized) struct GivingUpTests {
  private static let givenUp = ControlClientError.failed(
    "the request to the authenticator was cancelled")

  @Test func `a client disconnected before it connects does not connect`() throws {
    let listener = try Listener(backlog: 1)
    let client = ControlClient(listener.path, onPrompt: {})
    client.disconnect()
    #expect(throws: Self.givenUp) { try client.connect() }
  }

  @Test func `a connect that the listener does not accept can be cancelled`() async throws {
    let listener = try Listener(backlog: 0)
    try listener.fill()
    let client = ControlClient(listener.path, onPrompt: {})
    let outcome = started { try client.connect() }
    client.disconnect()
    #expect(await first(outcome) == Self.givenUp)
  }

  @Test func `a hello without an answer can be cancelled`() async throws {
    let listener = try Listener(backlog: 1)
    let client = ControlClient(listener.path, onPrompt: {})
    let outcome = started { try client.connect() }
    let server = listener.accepted()
    defer { close(server) }
    #expect(!received(server).isEmpty)
    client.disconnect()
    #expect(await first(outcome) == Self.givenUp)
    #expect(received(server) == [])
  }

  @Test(arguments: [false, true])
  func `a request without an answer can be cancelled, also while a prompt is open`(_ isPromptOpen: Bool) async throws {
    let listener = try Listener(backlog: 1)
    let (prompts, continuation) = AsyncStream.makeStream(of: Void.self)
    let client = ControlClient(listener.path) { continuation.yield() }
    let outcome = started {
      try client.connect()
      _ = try client.ask(GetAccount())
    }
    let server = listener.accepted()
    defer { close(server) }
    _ = received(server)
    answer(Hello.Answer(processID: 1).encoded, on: server)
    #expect(!received(server).isEmpty)
    if isPromptOpen {
      answer(ControlMessage.promptIsOpen, on: server)
      _ = await prompts.first { _ in true }
    }
    client.disconnect()
    #expect(await first(outcome) == Self.givenUp)
    #expect(received(server) == [])
  }

  @Test func `the authenticator says that a prompt is open, and the client reports it once`() async throws {
    let listener = try Listener(backlog: 1)
    let (prompts, continuation) = AsyncStream.makeStream(of: Void.self)
    let client = ControlClient(listener.path) { continuation.yield() }
    let outcome = started {
      try client.connect()
      for _ in 1...3 { _ = try client.ask(GetAccount()) }
    }
    let server = listener.accepted()
    defer { close(server) }
    #expect(received(server) == Hello(hearsOfPrompts: true).encoded.withUnsafeBytes { Array($0) })
    answer(Hello.Answer(processID: 1).encoded, on: server)
    for request in 1...3 {
      #expect(received(server) == [GetAccount.code])
      // The first prompt is answered at once, the second waits.
      answer(ControlMessage.promptIsOpen, on: server)
      if request == 2 { _ = await prompts.first { _ in true } }
      answer(GetAccount.Answer("a").encoded, on: server)
    }
    #expect(await first(outcome) == nil)
    #expect(!listener.hasGuest, "the client uses one connection")
    continuation.finish()
    for await _ in prompts { Issue.record("it was reported again") }
  }

  private func answer(_ packet: [UInt8], on server: Int32) {
    #expect(send(server, packet, packet.count, 0) == packet.count)
  }

  /// Starts a blocking body on another thread, which is not one of those on which tests run: they block, too.
  ///
  /// - Returns: the error that it throws.
  private func started(_ body: @escaping @Sendable () throws -> Void) -> AsyncStream<ControlClientError?> {
    let (outcomes, continuation) = AsyncStream.makeStream(of: ControlClientError?.self)
    Thread.detachNewThread {
      do {
        try body()
        continuation.yield(nil)
      } catch {
        continuation.yield(error as? ControlClientError)
      }
      continuation.finish()
    }
    return outcomes
  }

  private func first(_ outcomes: AsyncStream<ControlClientError?>) async -> ControlClientError? {
    await outcomes.first { _ in true } ?? nil
  }

  /// The next packet; empty at the end of the connection.
  private func received(_ descriptor: Int32) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: ControlMessage.maximumSize)
    return Array(buffer[..<max(0, recv(descriptor, &buffer, buffer.count, 0))])
  }
}

/// A control socket whose server is the test.
private final class Listener: Sendable {
  let path: String
  private let descriptor: Int32
  private let guest: Int32

  init(backlog: Int32) throws {
    var name = Array("/tmp/control-client-XXXXXX".utf8CString)
    let folder = try #require(mkdtemp(&name))
    path = String(cString: folder) + "/c"
    descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    guest = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    try #require(SocketAddress(path)?.bind(descriptor) == true)
    try #require(listen(descriptor, backlog) == 0)
  }

  deinit {
    close(descriptor)
    close(guest)
    unlink(path)
    rmdir(String(path.dropLast(2)))
  }

  /// Takes the last place in the backlog, so that the next client waits.
  func fill() throws {
    let address = try #require(SocketAddress(path))
    try #require(address.connect(guest))
    let another = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    defer { close(another) }
    try #require(!address.connect(another) && errno == EAGAIN)
  }

  /// The next connection.
  func accepted() -> Int32 { accept(descriptor, nil, nil) }

  /// Whether another client has connected.
  var hasGuest: Bool {
    var guest = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&guest, 1, 0) != 0
  }
}
