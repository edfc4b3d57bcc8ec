import Glibc
import HTTP
import Synchronization
import TestSupport
import Testing

/// A server on 127.0.0.1 that reads one request of each client, hands the client to a function, and closes.
final class TestServer: Sendable {
  /// A client that has sent its request.
  struct Client {
    fileprivate let descriptor: Int32
    fileprivate let request: RequestReader.Request

    /// The head that opens a web socket; `nil` for another request.
    var webSocketAnswer: [UInt8]? { request.webSocketAnswer }

    /// Returns whether the client still reads.
    @discardableResult func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    @discardableResult func send(_ bytes: [UInt8]) -> Bool {
      Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Waits until the client has closed the connection.
    func waitForEnd() {
      var byte: UInt8 = 0
      while recv(descriptor, &byte, 1, 0) > 0 {}
    }
  }

  let port: UInt16
  private let listener: Int32
  private let all = Mutex<[String]>([])

  /// The requests so far, as sent.
  var requests: [String] { all.withLock { $0 } }

  init(_ serve: @escaping @Sendable (Client) -> Void) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try #require(bind(descriptor, address, size) == 0 && listen(descriptor, 8) == 0)
        try #require(getsockname(descriptor, address, &size) == 0)
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    // It ends with the process of the tests.
    _ = BlockingWork { [self] in
      while case let client = accept(descriptor, nil, nil), client >= 0 {
        if let request = read(client) { serve(Client(descriptor: client, request: request)) }
        close(client)
      }
    }
  }

  private func read(_ client: Int32) -> RequestReader.Request? {
    var reader = RequestReader(maximumSize: 100_000, maximumFields: 100, maximumBodySize: 10_000)
    var text = ""
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(client, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      text += String(decoding: buffer.prefix(count), as: UTF8.self)
      var piece = buffer.prefix(count)
      switch reader.receive(&piece) {
      case .incomplete: continue
      case .refused: return nil
      case .request(let request):
        all.withLock { $0.append(text) }
        return request
      }
    }
  }
}
