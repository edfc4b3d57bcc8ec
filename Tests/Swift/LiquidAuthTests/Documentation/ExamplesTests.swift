import AlgorandTransaction
import Foundation
import LiquidAuth
import Testing

/// The examples of `LiquidAuth.docc`, compiled and run against a server double.
@Suite struct ExamplesTests {
  private static let here = URL(filePath: #filePath)

  private static var page: String {
    get throws {
      let root = (0..<5).reduce(here) { folder, _ in folder.deletingLastPathComponent() }
      return try String(
        contentsOf: root.appending(path: "Sources/Algorand/LiquidAuth/LiquidAuth.docc/LiquidAuth.md"), encoding: .utf8)
    }
  }

  @Test func `the articles' examples of registration and authentication run`() async throws {
    let server = LiquidAuthServer(rpID: "example.com", origin: "https://example.com")
    let wallet = try TestWallet(at: server)
    let link = try LiquidURI("liquid://example.com/?requestId=019097ff-bb8c-7d42-9a3b-0a1b2c3d4e5f")
    let registered = try await registration(link, with: wallet.client)
    let signedIn = try await authentication(link, with: wallet.client)
    #expect(registered.credentialID == signedIn?.credentialID && server.links.count == 2)
    server.forget()
    #expect(try await authentication(link, with: wallet.client) == nil)
  }

  @Test func `the code in the articles is the compiled code`() throws {
    let source = Self.unindented(try String(contentsOf: Self.here, encoding: .utf8)[...])
    let examples = try Self.page.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    #expect(examples.count == 4)
    for example in examples { #expect(source.contains(Self.unindented(example[...])), "\(example)") }
  }

  @Test func `each kind of error has its row in the documentation`() throws {
    let rows = try Self.page.split(separator: "\n").filter { $0.hasPrefix("| ``LiquidAuthError/Kind/") }
    let names = rows.compactMap { $0.dropFirst("| ``LiquidAuthError/Kind/".count).split(separator: "`").first }
    #expect(names.map(String.init) == Self.kinds.map(name(of:)))
  }

  private static let kinds: [LiquidAuthError.Kind] = [
    .origin(.scheme), .userCanceled, .timedOut, .notVerified, .unknownCredential, .noCredential,
    .reservedChallenge, .serverLost(.closed), .channelTimedOut, .channelLost, .cancelled, .failed,
  ]

  private static func unindented(_ text: Substring) -> String {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
  }
}

// MARK: - Names of cases in the documentation

private func name(of kind: LiquidAuthError.Kind) -> String {
  switch kind {
  case .failed: "failed"
  case .origin: "origin(_:)"
  case .userCanceled: "userCanceled"
  case .timedOut: "timedOut"
  case .notVerified: "notVerified"
  case .unknownCredential: "unknownCredential"
  case .noCredential: "noCredential"
  case .reservedChallenge: "reservedChallenge"
  case .serverLost: "serverLost(_:)"
  case .channelTimedOut: "channelTimedOut"
  case .channelLost: "channelLost"
  case .cancelled: "cancelled"
  }
}

// MARK: - Composition

func client(
  http: any HTTPPort, authenticator: any AuthenticatorPort, publicSuffixes: any PublicSuffixes
) -> LiquidAuthClient {
  LiquidAuthClient(
    http: http, authenticator: authenticator, publicSuffixes: publicSuffixes,
    userAgent: UserAgent(version: "1.0"), device: "Linux"
  ) { progress in
    if case .firstUse(let host) = progress { print("this is the first sign-in at \(host)") }
  }
}

// MARK: - Registration

func registration(_ link: LiquidURI, with client: LiquidAuthClient) async throws(LiquidAuthError) -> LiquidAuthResult {
  let result = try await client.registration(origin: link.origin, path: link.path, requestID: link.requestID)
  print("\(result.address) has a passkey for \(result.rpID)")
  return result
}

// MARK: - Authentication

func authentication(_ link: LiquidURI, with client: LiquidAuthClient) async throws(LiquidAuthError) -> LiquidAuthResult?
{
  do throws(LiquidAuthError) {
    return try await client.authentication(origin: link.origin, path: link.path, requestID: link.requestID)
  } catch {
    switch error.kind {
    case .unknownCredential, .noCredential:
      print("register first")
      return nil
    default:
      throw error
    }
  }
}

// MARK: - Peer communication

func talk(
  after result: LiquidAuthResult, iceServers: [ICEServer], ports: SignalingPorts, signer: any TransactionSigner
) async throws {
  let channel = try await startSignaling(
    origin: result.origin, path: result.path, headers: result.signalingHeaders, iceServers: iceServers, ports: ports
  ) { progress in
    print(progress.elapsed, progress.event)
  }
  var provider = Provider(
    Provider.Configuration(
      name: "My wallet", account: result.address, networks: [Provider.Network(.mainnet)],
      origin: result.origin.serialized),
    signer: signer, randomness: SystemRandomNumberGenerator())
  for try await message in channel.messages {
    switch await provider.answer(message) {
    case .reply(let reply): try await channel.send(reply.frame)
    case .none(let reason): print("not answered: \(reason)")
    }
  }
}
