import AsyncHTTPClient
import LiquidAuth
import NIOCore
import NIOHTTP1
import NIOPosix

/// HTTP by AsyncHTTPClient: one exchange at a time, no redirect, no cookie, nothing decompressed.
struct HTTPExchanges: HTTPPort {
  /// How long a connection may take, and a whole exchange.
  private static let patience = (connect: TimeAmount.seconds(10), exchange: TimeAmount.seconds(30))

  private let client: HTTPClient

  init(on group: any EventLoopGroup, _ policy: TLSPolicy) {
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: policy.configuration, redirectConfiguration: .disallow,
      timeout: .init(connect: Self.patience.connect, read: Self.patience.exchange))
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
  }

  /// Closes what is open.
  func close() async { try? await client.shutdown() }

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(HTTPFailure) -> HTTPResponse {
    do {
      let response = try await client.execute(Self.request(request), deadline: .now() + Self.patience.exchange)
      let body = try await response.body.collect(upTo: maximumBodySize)
      return HTTPResponse(
        status: Int(response.status.code), headers: response.headers.map { HTTPHeader($0.name, $0.value) },
        body: Array(buffer: body))
    } catch is NIOTooManyBytesError {
      throw .bodyTooLarge
    } catch {
      throw HTTPFailure(ConnectionFault(error))
    }
  }

  private static func request(_ request: HTTPRequest) -> HTTPClientRequest {
    var message = HTTPClientRequest(url: request.url)
    message.method = HTTPMethod(rawValue: request.method.rawValue)
    message.headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    if let body = request.body { message.body = .bytes(ByteBuffer(bytes: body)) }
    return message
  }
}

extension HTTPFailure {
  fileprivate init(_ fault: ConnectionFault) {
    switch fault {
    case .unreachable(let reason): self = .unreachable(reason)
    case .untrusted(let reason): self = .untrusted(reason)
    case .timedOut: self = .timedOut
    case .broken(let reason): self = .broken(reason)
    }
  }
}
