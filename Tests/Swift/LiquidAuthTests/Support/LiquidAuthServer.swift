import CBOR
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import LiquidAuth
import Recovery
import Synchronization
import TestVectors

/// A Liquid Auth service in memory, with the endpoints, cookies and statuses of the real one.
///
/// Its checks are those of the real service, or stricter.
final class LiquidAuthServer: HTTPPort {
  /// Changes the answer to a path before it is returned.
  typealias Tampering = @Sendable (_ path: String, inout HTTPResponse) -> Void

  /// The notice to the dApp that its request was answered with a passkey.
  struct Link: Equatable {
    let requestID: JSONValue
    let wallet: String
    let credentialID: String
  }

  private struct Session {
    var challenge: String?
    var username: String?
  }

  private struct State {
    var sessions: [String: Session] = [:]
    var passkeys: [String: (wallet: String, key: P256.PublicKey)] = [:]
    var links: [Link] = []
    var requests: [HTTPRequest] = []
    var challenges = 0
    var expectedOrigin: String
  }

  /// A refusal in the form of the service.
  private struct Refusal: Error {
    var status = 401
    var reason = "unauthorized"
    let message: String
  }

  private let rpID: String
  private let tampering: Tampering
  private let state: Mutex<State>

  init(rpID: String, origin: String, tampering: @escaping Tampering = { _, _ in }) {
    self.rpID = rpID
    state = Mutex(State(expectedOrigin: origin))
    self.tampering = tampering
  }

  /// Every notice to a dApp so far.
  var links: [Link] { state.withLock { $0.links } }
  /// Every request so far.
  var requests: [HTTPRequest] { state.withLock { $0.requests } }
  /// The paths of every request so far.
  var paths: [String] { requests.map { Self.path(of: $0) } }

  /// Drops all data, as a restart without the database does.
  func forget() { state.withLock { $0 = State(expectedOrigin: $0.expectedOrigin) } }

  /// Expects client data of this origin from now on.
  func expect(origin: String) { state.withLock { $0.expectedOrigin = origin } }

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
    let path = Self.path(of: request)
    var response = state.withLock { answer(request, path, &$0) }
    tampering(path, &response)
    guard response.body.count <= maximumBodySize else { throw .tooLarge }
    return response
  }

  private static func path(of request: HTTPRequest) -> String {
    "/" + request.url.split(separator: "/").dropFirst(2).joined(separator: "/")
  }

  private func answer(_ request: HTTPRequest, _ path: String, _ state: inout State) -> HTTPResponse {
    state.requests.append(request)
    let cookie = request.headers.first { $0.isNamed("cookie") }?.value
    let sid = cookie?.split(separator: "=").last.map(String.init) ?? "s%3A\(state.sessions.count).signature"
    var session = state.sessions[sid] ?? Session()
    let setCookie = HTTPHeader("Set-Cookie", "connect.sid=\(sid); Path=/; HttpOnly")
    let type = HTTPHeader("Content-Type", "application/json; charset=utf-8")
    do {
      guard request.headers.contains(where: { $0.isNamed("user-agent") && $0.value.contains("Linux") }) else {
        throw Refusal(status: 500, reason: "", message: "no operating system")
      }
      let answer = try route(path, JSONValue(request.body ?? []), &session, &state)
      state.sessions[sid] = session
      return HTTPResponse(status: 201, headers: [type, setCookie], body: try answer.json())
    } catch {
      state.sessions[sid] = session
      let refusal = error as? Refusal ?? Refusal(status: 500, reason: "", message: "\(error)")
      let body: JSONValue = ["reason": .text(refusal.reason), "error": .text(refusal.message)]
      return HTTPResponse(status: refusal.status, headers: [type, setCookie], body: (try? body.json()) ?? [])
    }
  }

  private func route(
    _ path: String, _ body: JSONValue, _ session: inout Session, _ state: inout State
  ) throws -> JSONValue {
    switch path {
    case "/attestation/request": try attestationOptions(body, &session, &state)
    case "/attestation/response": try attested(body, &session, &state)
    case "/assertion/response": try asserted(body, &session, &state)
    case _ where path.hasPrefix("/assertion/request/"):
      try assertionOptions(String(path.dropFirst("/assertion/request/".count)), &session, &state)
    default: throw Refusal(status: 404, reason: "", message: "no such path")
    }
  }

  // MARK: Registration

  private func attestationOptions(
    _ body: JSONValue, _ session: inout Session, _ state: inout State
  ) throws -> JSONValue {
    guard body["extensions"]?["liquid"] != nil else {
      throw Refusal(status: 501, reason: "not_implemented", message: "Liquid extension is required")
    }
    guard let username = body["username"] else { throw Refusal(status: 500, message: "no username") }
    session = Session(challenge: nextChallenge(&state), username: username.text)
    return [
      "challenge": .text(session.challenge ?? ""), "rp": ["name": "Test", "id": .text(rpID)],
      "user": ["id": username, "name": username, "displayName": username],
      "pubKeyCredParams": [["type": "public-key", "alg": -7], ["type": "public-key", "alg": -257]],
      "timeout": 1_800_000, "attestation": "none", "excludeCredentials": [],
      "authenticatorSelection": ["userVerification": "required"], "extensions": ["liquid": true],
    ]
  }

  private func attested(_ body: JSONValue, _ session: inout Session, _ state: inout State) throws -> JSONValue {
    let (challenge, _) = try checkClientData(body, "webauthn.create", session, state)
    guard let object = try CBORDecoder.decode(bytes(body["response"]?["attestationObject"])).map,
      object["fmt"] == "none", object["attStmt"] == .map([:])
    else { throw Refusal(message: "User verification failed") }
    let data = try checked(object["authData"]?.bytes ?? [])
    guard let attested = data.attestedCredentialData, case .es256(let key) = attested.publicKey.publicKey,
      let id = body["id"]?.text, Base64URL.encode(attested.credentialID) == id
    else { throw Refusal(message: "User verification failed") }

    let liquid = body["clientExtensionResults"]?["liquid"]
    guard let liquid, liquid["type"] == "algorand", let wallet = liquid["address"]?.text, wallet == session.username,
      let address = AlgorandAddress(text: Array(wallet.utf8)),
      Ed25519.isValidSignature(try bytes(liquid["signature"]), for: challenge, publicKey: address.publicKey)
    else { throw Refusal(message: "Liquid extension not found") }
    state.passkeys[id] = (wallet, key)
    return linked(id, liquid, wallet, &session, &state)
  }

  // MARK: Sign-in

  private func assertionOptions(
    _ id: String, _ session: inout Session, _ state: inout State
  ) throws -> JSONValue {
    guard state.passkeys[id] != nil else { throw Refusal(reason: "not_found", message: "User not found.") }
    session = Session(challenge: nextChallenge(&state))
    return [
      "challenge": .text(session.challenge ?? ""), "allowCredentials": [["id": .text(id), "type": "public-key"]],
      "timeout": 1_800_000, "userVerification": "required", "rpId": .text(rpID),
    ]
  }

  private func asserted(_ body: JSONValue, _ session: inout Session, _ state: inout State) throws -> JSONValue {
    let (_, clientData) = try checkClientData(body, "webauthn.get", session, state)
    guard let id = body["id"]?.text, let passkey = state.passkeys[id] else {
      throw Refusal(message: "Credential not found.")
    }
    let response = body["response"]
    let data = try bytes(response?["authenticatorData"])
    _ = try checked(data)
    guard response?["userHandle"] == nil || response?["userHandle"]?.text != nil,
      passkey.key.isValidSignature(try bytes(response?["signature"]), for: data + SHA256.hash(clientData))
    else { throw Refusal(message: "User verification failed") }
    return linked(id, body["clientExtensionResults"]?["liquid"], passkey.wallet, &session, &state)
  }

  // MARK: Both

  private func nextChallenge(_ state: inout State) -> String {
    state.challenges += 1
    return Base64URL.encode(SHA256.hash(Array("challenge \(state.challenges)".utf8)))
  }

  /// Returns the challenge and the client data, which must have that challenge and the expected origin.
  private func checkClientData(
    _ body: JSONValue, _ type: String, _ session: Session, _ state: State
  ) throws -> (challenge: [UInt8], clientData: [UInt8]) {
    guard let challenge = session.challenge else { throw Refusal(message: "Challenge not found") }
    let clientData = try bytes(body["response"]?["clientDataJSON"])
    let members = try JSONValue(clientData)
    guard body["id"] == body["rawId"], body["type"] == "public-key", members["type"] == .text(type),
      members["challenge"] == .text(challenge), members["origin"] == .text(state.expectedOrigin)
    else { throw Refusal(message: "User verification failed") }
    return (try bytes(.text(challenge)), clientData)
  }

  private func checked(_ bytes: [UInt8]) throws -> AuthenticatorData {
    let data = try AuthenticatorData(parsing: bytes)
    guard data.rpIDHash == RPIDHash(rpID: rpID), data.flags.contains([.userPresent, .userVerified]) else {
      throw Refusal(message: "User verification failed")
    }
    return data
  }

  private func linked(
    _ id: String, _ liquid: JSONValue?, _ wallet: String, _ session: inout Session, _ state: inout State
  ) -> JSONValue {
    session.challenge = nil
    if let requestID = liquid?["requestId"] {
      state.links.append(Link(requestID: requestID, wallet: wallet, credentialID: id))
    }
    let credentials = state.passkeys.filter { $0.value.wallet == wallet }.map { id, _ -> JSONValue in
      ["device": "Linux", "credId": .text(id), "publicKey": "", "prevCounter": 0]
    }
    return ["_id": "1", "id": "2", "wallet": .text(wallet), "credentials": .array(credentials), "__v": 0]
  }

  private func bytes(_ value: JSONValue?) throws -> [UInt8] {
    guard let bytes = value?.text.flatMap({ Base64URL.decode($0.utf8) }) else {
      throw Refusal(message: "User verification failed")
    }
    return bytes
  }
}

extension HTTPResponse {
  /// Changes the body of the answer.
  mutating func change(_ change: (inout JSONValue) -> Void) {
    guard var value = try? JSONValue(body) else { return }
    change(&value)
    self = HTTPResponse(status: status, headers: headers, body: (try? value.json()) ?? [])
  }
}
