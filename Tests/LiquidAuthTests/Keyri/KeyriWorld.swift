import CryptoPrimitives
import Foundation
import Synchronization
import TestVectors

@testable import LiquidAuth

/// Everything that Keyri's functions are given, as the vectors have it: a server that answers by a script, the
/// authenticator's keys, the clock, and randomness.
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
  /// What the authenticator does when it is asked for a signature, such as to let time pass.
  let prompt: @Sendable (KeyriWorld) throws(PortError) -> Void

  /// A world in which nothing was asked yet.
  ///
  /// - Parameter bytes: what randomness gives, in order; by default as in the vectors.
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

  // MARK: What is given

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

  // MARK: What the server does

  /// The next answer.
  func answer(_ status: Int, _ body: String = "", _ headers: [HTTPHeader] = []) {
    state.withLock {
      $0.answers.append(.success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8))))
    }
  }

  /// The next answer is none.
  func fail(_ failure: PortError) { state.withLock { $0.answers.append(.failure(failure)) } }

  /// The session of the vectors as the API describes it, with the members of `changes`; null removes one.
  static func session(_ changes: [String: Any] = [:]) throws -> String {
    let described = try KeyriVectors.load().flow.session.json?.json()
    var session = try JSONSerialization.jsonObject(with: Data(described ?? [])) as? [String: Any] ?? [:]
    for (name, value) in changes { session[name] = value is NSNull ? nil : value }
    return String(decoding: try JSONSerialization.data(withJSONObject: session), as: UTF8.self)
  }

  // MARK: What was done

  var requests: [HTTPRequest] { state.withLock { $0.requests.map(\.request) } }
  var limits: [Int] { state.withLock { $0.requests.map(\.maximumBodySize) } }
  var signed: [ScriptedAssociationKeys.Signed] { state.withLock { $0.signed } }
  /// The last body that was sent, as text.
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

/// The authenticator: one user's key, and a signature that the vectors have.
struct ScriptedAssociationKeys: AssociationKeys {
  /// The signed data and their recipient, as in the prompt.
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
