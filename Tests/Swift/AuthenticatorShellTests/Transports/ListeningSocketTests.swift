import Glibc
import StateDirectory
import TestSupport
import Testing

@testable import liquid_authenticator

/// Sockets that systemd made and passes.
struct ListeningSocketTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.path + "/control.sock" }

  init() throws { directory = try TemporaryDirectory() }

  private func made(_ type: __socket_type = SOCK_SEQPACKET, listens: Bool = true) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(type.rawValue), 0)
    try #require(try #require(SocketAddress(path)).bind(descriptor))
    if listens { try #require(listen(descriptor, 4) == 0) }
    return descriptor
  }

  @Test func `a passed socket serves its path, and its file stays`() throws {
    let descriptor = try made()
    let socket = try ListeningSocket(passed: descriptor, at: path)
    #expect(socket.isPassed)
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
    socket.removeFile()
    #expect(access(path, F_OK) == 0)
    close(descriptor)
  }

  // Holds: CONTROL-17
  @Test(arguments: [(SOCK_SEQPACKET, false), (SOCK_STREAM, true), (SOCK_DGRAM, false)])
  func `a passed socket of another type, or one that does not listen, is refused`(
    type: __socket_type, listens: Bool
  ) throws {
    let descriptor = try made(type, listens: listens)
    defer { close(descriptor) }
    let error = #expect(throws: TransportError.self) { try ListeningSocket(passed: descriptor, at: path) }
    #expect(error?.description == "the socket that systemd passed does not listen at \(path)")
  }

  // Holds: CONTROL-17
  @Test func `a passed socket at another path is refused`() throws {
    let descriptor = try made()
    defer { close(descriptor) }
    #expect(throws: TransportError.self) { try ListeningSocket(passed: descriptor, at: path + "2") }
  }
}
