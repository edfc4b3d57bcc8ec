import Synchronization

@testable import LiquidAuth

/// A wallet: the client with our authenticator, at one server.
struct TestWallet {
  static let address = "PPNHVQJGE6ZMEWPR35UHLUYMCCZV6VNTHLJMZDVCONXKUPV47K4WGQJWGI"
  static let requestID = "019097ff-bb8c-7d42-9a3b-0a1b2c3d4e5f"

  let authenticator: TestAuthenticator
  let server: any HTTPPort
  let origin: WebOrigin
  let progress = ProgressLog()

  init(
    at server: any HTTPPort, origin: String = "https://example.com", with authenticator: TestAuthenticator? = nil
  ) throws {
    self.authenticator = try authenticator ?? TestAuthenticator()
    self.server = server
    self.origin = try WebOrigin(origin)
  }

  var client: LiquidAuthClient {
    LiquidAuthClient(
      http: server, authenticator: authenticator, publicSuffixes: TestSuffixes(), userAgent: UserAgent(version: "1"),
      device: "Linux", report: { [progress] in progress.append($0) })
  }

  /// Runs a flow of the client.
  func run(_ flow: Flow, requestID: String = requestID) async throws(LiquidAuthError) -> LiquidAuthResult {
    guard let requestID = RequestID(requestID) else { throw .noRequestID }
    return switch flow {
    case .registration: try await client.registration(origin: origin, requestID: requestID)
    case .authentication: try await client.authentication(origin: origin, requestID: requestID)
    case .connect: try await client.connect(origin: origin, requestID: requestID)
    }
  }

  /// The flows of a client.
  enum Flow: CaseIterable {
    case registration, authentication, connect
  }
}

/// A short public suffix list.
struct TestSuffixes: PublicSuffixes {
  func isPublicSuffix(_ domain: String) -> Bool {
    ["co.uk", "github.io", "kawasaki.jp"].contains(domain) || !domain.contains(".")
  }
}

/// The reported progress.
final class ProgressLog: Sendable {
  private let list = Mutex<[LiquidAuthProgress]>([])

  var all: [LiquidAuthProgress] { list.withLock { $0 } }
  func append(_ progress: LiquidAuthProgress) { list.withLock { $0.append(progress) } }
}
