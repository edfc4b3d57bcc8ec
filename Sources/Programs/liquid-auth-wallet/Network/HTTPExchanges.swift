import AsyncHTTPClient
import LiquidAuth
import NIOCore
import NIOHTTP1
import NIOPosix

/// HTTP with AsyncHTTPClient: no redirects, no cookies, no decompression.
struct HTTPExchanges: HTTPPort {
  /// The most time for a connection.
  private static let timeout = TimeAmount.seconds(10)

  private let client: HTTPClient
  private let timeout: TimeAmount

  /// - Parameter timeout: the most time for a whole exchange, from the connection to the last byte of the body.
  init(on group: any EventLoopGroup, _ policy: TLSPolicy, timeout: TimeAmount = .seconds(30)) {
    self.timeout = timeout
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: policy.configuration, redirectConfiguration: .disallow,
      timeout: .init(connect: Self.timeout, read: timeout))
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
  }

  /// Closes all connections.
  func close() async { try? await client.shutdown() }

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
    do {
      return try await withinPatience { try await exchange(request, maximumBodySize) }
    } catch is NIOTooManyBytesError {
      throw .tooLarge
    } catch {
      throw PortError(connection: error)
    }
  }

  /// Limits a whole exchange: the client's own deadline ends with the response head, and a body could take days.
  private func withinPatience(
    _ exchange: @escaping @Sendable () async throws -> HTTPResponse
  ) async throws -> HTTPResponse {
    try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
      group.addTask(operation: exchange)
      group.addTask {
        try await Task.sleep(for: .nanoseconds(timeout.nanoseconds))
        throw HTTPClientError.deadlineExceeded
      }
      defer { group.cancelAll() }
      guard let response = try await group.next() else { throw HTTPClientError.cancelled }
      return response
    }
  }

  private func exchange(_ request: HTTPRequest, _ maximumBodySize: Int) async throws -> HTTPResponse {
    let response = try await client.execute(Self.request(request), deadline: .now() + timeout)
    let body = try await response.body.collect(upTo: maximumBodySize)
    return HTTPResponse(
      status: Int(response.status.code), headers: response.headers.map { HTTPHeader($0.name, $0.value) },
      body: Array(buffer: body))
  }

  private static func request(_ request: HTTPRequest) -> HTTPClientRequest {
    var message = HTTPClientRequest(url: request.url)
    message.method = HTTPMethod(rawValue: request.method.rawValue)
    message.headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    if let body = request.body { message.body = .bytes(ByteBuffer(bytes: body)) }
    return message
  }
}
