import TestVectors
import Testing

@testable import LiquidAuth

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  private static let secret = Hex(PrintedForms.secret.bytes.filter { ![0x22, 0x2C, 0x3B, 0x5C].contains($0) })
  private static let text = String(decoding: secret.bytes, as: UTF8.self)

  @Test func `a jar prints none of its cookies`() throws {
    var jar = CookieJar(origin: try WebOrigin("https://app.example.com"))
    jar.store(HTTPResponse(status: 200, headers: [HTTPHeader("Set-Cookie", "session=\(Self.text)")]), forPath: "/")
    #expect(jar.header(forPath: "/")?.value == "session=\(Self.text)")
    #expect(PrintedForms.leaks(of: jar, Self.secret) == [])
  }

  @Test func `a TURN server prints its address and no password`() {
    let server = ICEServer(urls: ["turn:turn.example"], username: "alice", credential: Self.text)
    #expect("\(server)" == "ICEServer(turn:turn.example)")
    #expect(PrintedForms.leaks(of: server, Self.secret) == [])
  }

  @Test func `a node of a network prints its address and no token`() {
    let node = AlgodClient(url: "https://node.example/", token: Self.text, http: NoHTTP())
    #expect("\(node)" == "AlgodClient(https://node.example)")
    #expect(PrintedForms.leaks(of: node, Self.secret) == [])
  }

  @Test func `a pairing, and what connects with it, print its id and no token`() throws {
    let pairing = try #require(DurablePairing(pairingID: "p", credential: Self.text))
    #expect("\(pairing)" == "DurablePairing(p)")
    let user = User(wallet: "W", credentials: [], pairing: pairing)
    let machine = SignalingMachine(
      timeout: .seconds(1), pairing: pairing, randomness: ConstantRandomness(number: 0))
    for value in [pairing, user, machine] as [Any] {
      #expect(PrintedForms.leaks(of: value, Self.secret) == [], "\(type(of: value))")
    }
  }

  private struct NoHTTP: HTTPPort {
    func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
      throw .broken("no network")
    }
  }
}
