import CryptoPrimitives
import Foundation
import Keyri
import LiquidAuth
import Synchronization
import TestVectors

/// The ports of Keyri with the data of the vectors.
///
/// They are a scripted server, the authenticator's keys, the clock and the randomness.
final class KeyriWorld: Sendable {
  private struct State {
    var now: UInt64
    var answers: [Result<HTTPResponse, PortError>] = []
    var requests: [(request: HTTPRequest, maximumBodySize: Int)] = []
    var signed: [ScriptedAssociationKeys.Signed] = []
    var keys: [P256.PrivateKey]
    var bytes: [[UInt8]]
  }

  let flow: Vector
  private let state: Mutex<State>
  /// Runs before the authenticator signs, for example to let time pass.
  let prompt: @Sendable (KeyriWorld) throws(PortError) -> Void

  /// Creates a world without requests.
  ///
  /// - Parameter bytes: the random bytes in order; by default those of the vectors.
  init(
    bytes: [[UInt8]]? = nil, prompt: @escaping @Sendable (KeyriWorld) throws(PortError) -> Void = { _ in }
  ) throws {
    flow = try KeyriVectors.load().flow
    self.prompt = prompt
    let keys = [try P256.PrivateKey(flow.mobilePrivateKey.hex), try P256.PrivateKey(flow.ephemeralPrivateKey.hex)]
    state = Mutex(
      State(
        now: flow.milliseconds.integer(), keys: keys,
        bytes: bytes ?? [flow.nonce.bytes, flow.salt.bytes, flow.iv.bytes]))
  }

  // MARK: Inputs

  var randomness: KeyriRandomness {
    KeyriRandomness(
      bytes: { count in
        self.state.withLock { state in
          precondition(state.bytes.first?.count == count, "randomness was not asked for so many bytes")
          return state.bytes.removeFirst()
        }
      }, key: { self.state.withLock { $0.keys.removeFirst() } })
  }

  var now: UInt64 {
    get { state.withLock { $0.now } }
    set { state.withLock { $0.now = newValue } }
  }

  var companion: KeyriCompanion {
    get throws {
      KeyriCompanion(
        origin: try WebOrigin("https://app.example"), http: self, keys: ScriptedAssociationKeys(world: self),
        now: { self.now }, randomness: randomness)
    }
  }

  var sessions: KeyriSessions {
    get throws {
      try KeyriSessions(
        origin: try WebOrigin("https://api.example:8443"), appKey: "app-Key_1", http: self,
        keys: ScriptedAssociationKeys(world: self), now: { self.now }, randomness: randomness)
    }
  }

  func email() throws -> KeyriEmail { try KeyriEmail(flow.emailText.text) }
  func link() throws -> KeyriLink { try KeyriLink(flow.linkText.text, otherOrigins: []) }

  // MARK: Server

  /// Adds an answer to the script.
  func answer(_ status: Int, _ body: String = "", _ headers: [HTTPHeader] = []) {
    state.withLock {
      $0.answers.append(.success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8))))
    }
  }

  /// Adds a failure to the script.
  func fail(_ failure: PortError) { state.withLock { $0.answers.append(.failure(failure)) } }

  /// The JSON of the session of the vectors with the members of `changes`; null removes a member.
  static func session(_ changes: [String: Any] = [:]) throws -> String {
    let described = try KeyriVectors.load().flow.session.json?.json()
    var session = try JSONSerialization.jsonObject(with: Data(described ?? [])) as? [String: Any] ?? [:]
    for (name, value) in changes { session[name] = value is NSNull ? nil : value }
    return String(decoding: try JSONSerialization.data(withJSONObject: session), as: UTF8.self)
  }

  // MARK: Records

  var requests: [HTTPRequest] { state.withLock { $0.requests.map(\.request) } }
  var limits: [Int] { state.withLock { $0.requests.map(\.maximumBodySize) } }
  var signed: [ScriptedAssociationKeys.Signed] { state.withLock { $0.signed } }
  /// The body of the last request, as text.
  var sent: String? { requests.last?.body.map { String(decoding: $0, as: UTF8.self) } }

  fileprivate func note(_ signed: ScriptedAssociationKeys.Signed) { state.withLock { $0.signed.append(signed) } }
}

extension KeyriWorld: HTTPPort {
  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
    let answer = state.withLock { state in
      state.requests.append((request, maximumBodySize))
      precondition(!state.answers.isEmpty, "a request that no test expects: \(request.url)")
      return state.answers.removeFirst()
    }
    return try answer.get()
  }
}

/// The authenticator, with the key and the signature of the vectors.
struct ScriptedAssociationKeys: AssociationKeys {
  /// A signed request, as shown in the prompt.
  struct Signed: Equatable {
    let data: String
    let publicUserID: String
    let service: String
  }

  let world: KeyriWorld

  func publicKey(publicUserID: String) async throws(PortError) -> P256.PublicKey {
    guard publicUserID == world.flow.emailText.text, let key = try? P256.PublicKey(world.flow.publicKey.hex) else {
      throw .refused("no test asks for the key of \(publicUserID)")
    }
    return key
  }

  func sign(_ data: [UInt8], publicUserID: String, service: String) async throws(PortError) -> [UInt8] {
    try world.prompt(world)
    world.note(Signed(data: String(decoding: data, as: UTF8.self), publicUserID: publicUserID, service: service))
    return world.flow.signature.bytes
  }
}
