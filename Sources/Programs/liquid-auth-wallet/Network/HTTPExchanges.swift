import CNetwork
import Glibc
import LiquidAuth

/// HTTP with libsoup: HTTP/1.1, no redirects, no cookies, no decompression, no proxy.
struct HTTPExchanges: HTTPPort {
  private let network: NetworkThread
  private let timeout: Duration

  /// - Parameter timeout: the most time for a whole exchange, from the connection to the last byte of the body.
  init(on network: NetworkThread, timeout: Duration = .seconds(30)) {
    self.network = network
    self.timeout = timeout
  }

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
    let exchange = HTTPExchange(on: network, request, maximumBodySize: maximumBodySize, timeout: timeout)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { exchange.begin($0) }
    } onCancel: {
      exchange.cancel()
    }
    return try result.get()
  }
}

/// One exchange.
private final class HTTPExchange: Sendable {
  fileprivate typealias Answer = CheckedContinuation<Result<HTTPResponse, PortError>, Never>

  private nonisolated(unsafe) let exchange: OpaquePointer

  init(on network: NetworkThread, _ request: HTTPRequest, maximumBodySize: Int, timeout: Duration) {
    let texts = request.headers.flatMap { [$0.name, $0.value] }
    let fields: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) } + [nil]
    defer { fields.forEach { free($0) } }
    exchange = fields.withUnsafeBytes { bytes in
      network.withUnsafePointer { network in
        cnetwork_exchange_make(
          network, request.method.rawValue, request.url,
          bytes.assumingMemoryBound(to: UnsafePointer<CChar>?.self).baseAddress, request.body,
          request.body?.count ?? 0, maximumBodySize, NetworkThread.connectionTimeout.milliseconds, timeout.milliseconds)
      }
    }
  }

  deinit { cnetwork_exchange_release(exchange) }

  func begin(_ answer: Answer) {
    cnetwork_exchange_begin(exchange, receiveAnswer, Unmanaged.passRetained(PendingAnswer(answer)).toOpaque())
  }

  func cancel() { cnetwork_exchange_cancel(exchange) }
}

/// The task that waits for an answer.
private final class PendingAnswer: Sendable {
  let continuation: HTTPExchange.Answer
  init(_ continuation: HTTPExchange.Answer) { self.continuation = continuation }
}

/// Called once for each exchange; outside any actor, like all callbacks from C.
private func receiveAnswer(_ owner: UnsafeMutableRawPointer?, _ answer: UnsafePointer<cnetwork_answer>?) {
  guard let owner else { return }
  let continuation = Unmanaged<PendingAnswer>.fromOpaque(owner).takeRetainedValue().continuation
  guard let answer = answer?.pointee, answer.end == CNETWORK_DONE else {
    let (end, number) = answer.map { ($0.pointee.end, $0.pointee.number) } ?? (CNETWORK_CANCELLED, 0)
    return continuation.resume(returning: .failure(PortError(end, number: number)))
  }
  let body = Array(UnsafeBufferPointer(start: answer.body, count: answer.body_size))
  continuation.resume(
    returning: .success(HTTPResponse(status: Int(answer.status), headers: headers(answer.fields), body: body)))
}

/// Names and values by turns, ending with `nil`.
private func headers(_ fields: UnsafePointer<UnsafePointer<CChar>?>?) -> [HTTPHeader] {
  var headers: [HTTPHeader] = []
  var rest = fields
  while let field = rest, let name = field[0], let value = field[1] {
    headers.append(HTTPHeader(String(cString: name), String(cString: value)))
    rest = field + 2
  }
  return headers
}
