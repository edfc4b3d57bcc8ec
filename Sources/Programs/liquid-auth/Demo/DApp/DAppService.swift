import CryptoPrimitives
import DeterministicKeys
import LiquidAuth
import Recovery

/// The Liquid Auth service of `liquid-auth demo --dapp`: registrations and sign-ins of wallets, in memory.
///
/// It answers as the real service does, which refuses without a reason. The verdict has the reason.
struct DAppService {
  /// The most wallets at a time.
  static let mostSessions = 64
  /// The name of the session's cookie.
  static let cookie = "connect.sid"

  /// What a request has led to.
  struct Answer {
    var response: DemoResponse
    var event: DAppEvent?
    var signIn: SignIn?
  }

  /// A wallet has proved its passkey and its address, in answer to a request.
  struct SignIn {
    let requestID: String
    let credentialID: [UInt8]
    let address: AlgorandAddress
  }

  private struct Session {
    var challenge: [UInt8]?
    var address: AlgorandAddress?
  }

  private struct Known {
    var passkey: BrowserRelyingParty.Passkey
    let device: String
  }

  private let site: BrowserRelyingParty
  private var sessions: [String: Session] = [:]
  private var users: [AlgorandAddress: [Known]] = [:]

  /// - Parameter origin: the origin that client data must name.
  init(origin: String) { site = BrowserRelyingParty(origin: origin) }

  /// The address with which the session of a request has signed in.
  func address(of request: DemoRequest) -> AlgorandAddress? { token(of: request).flatMap { sessions[$0]?.address } }

  /// Answers a wallet's request; `nil` if it is not one.
  mutating func answer(_ request: DemoRequest) throws(JSONError) -> Answer? {
    let signIn = "/assertion/request/"
    switch request.path {
    case "/attestation/request": return try beginRegistration(request)
    case "/attestation/response": return try finishRegistration(request)
    case "/assertion/response": return try finishSignIn(request)
    case let path where path.hasPrefix(signIn): return beginSignIn(request, String(path.dropFirst(signIn.count)))
    default: return nil
    }
  }

  // MARK: Registration

  private struct Wish: Decodable {
    let username: String?
    let extensions: ClientExtensionInputs?
  }

  private mutating func beginRegistration(_ request: DemoRequest) throws(JSONError) -> Answer {
    let wish = try JSONCoding.decode(Wish.self, from: request.body)
    guard wish.extensions != nil else {
      return .refused(501, "not_implemented", "Liquid extension is required")
    }
    let name = JSON(wish.username)
    return offerChallenge(request) { challenge in
      BrowserRelyingParty.request.adding([
        "challenge": .base64URL(challenge), "user": ["id": name, "name": name, "displayName": name],
        "timeout": Self.timeout, "attestation": "none", "excludeCredentials": [], "extensions": ["liquid": .bool(true)],
      ])
    }
  }

  private mutating func finishRegistration(_ request: DemoRequest) throws(JSONError) -> Answer {
    let credential = try JSONCoding.decode(AttestationCredential.self, from: request.body)
    guard let token = token(of: request), let challenge = sessions[token]?.challenge else {
      return .refused(401, "unauthorized", "Challenge not found")
    }
    let answer = PageCredential(
      id: credential.id, clientDataJSON: credential.response.clientDataJSON,
      attestationObject: credential.response.attestationObject)
    var verdict = DemoVerdict()
    var made: BrowserRelyingParty.Passkey?
    do throws(BrowserRelyingParty.Malformed) {
      (verdict, made) = try site.verify(answer, of: .passkey, challenge: challenge, known: [])
    } catch {
      verdict.fail(error)
    }
    let liquid = credential.clientExtensionResults.liquid
    let address = verdict.checkAddress(liquid, challenge: challenge)
    guard verdict.holds, let address, let made else { return .unverified(.registration, verdict) }
    users[address, default: []].removeAll { $0.passkey.account.credentialID == made.account.credentialID }
    users[address, default: []].append(Known(passkey: made, device: liquid.device))
    return succeed(.registration, token, verdict, liquid, made, address)
  }

  // MARK: Signing in

  private mutating func beginSignIn(_ request: DemoRequest, _ id: String) -> Answer {
    guard let id = Base64URL.decode(id.utf8), owner(of: id) != nil else {
      return .refused(401, "not_found", "User not found.")
    }
    return offerChallenge(request) { challenge in
      [
        "challenge": .base64URL(challenge), "allowCredentials": [["type": "public-key", "id": .base64URL(id)]],
        "timeout": Self.timeout, "userVerification": "required", "rpId": .string(BrowserRelyingParty.rpID),
      ]
    }
  }

  private mutating func finishSignIn(_ request: DemoRequest) throws(JSONError) -> Answer {
    let credential = try JSONCoding.decode(AssertionCredential.self, from: request.body)
    guard let token = token(of: request), let challenge = sessions[token]?.challenge else {
      return .refused(401, "unauthorized", "Challenge not found.")
    }
    guard let (owner, index) = owner(of: credential.id.bytes), var known = users[owner]?[index] else {
      return .refused(401, "unauthorized", "Credential not found.")
    }
    let answer = PageCredential(
      id: credential.id, clientDataJSON: credential.response.clientDataJSON,
      authenticatorData: credential.response.authenticatorData, signature: credential.response.signature,
      userHandle: credential.response.userHandle)
    var verdict = DemoVerdict()
    do throws(BrowserRelyingParty.Malformed) {
      // As for a second factor, the service names the passkey.
      verdict = try site.verify(
        answer, of: .secondFactorSignIn, challenge: challenge, with: &known.passkey, userID: Array(owner.text.utf8))
    } catch {
      verdict.fail(error)
    }
    let liquid = credential.clientExtensionResults.liquid
    let address = verdict.checkAddress(liquid, challenge: challenge)
    verdict.check("the address is that of the registration", address == owner)
    guard verdict.holds else { return .unverified(.signIn, verdict) }
    users[owner]?[index] = known
    return succeed(.signIn, token, verdict, liquid, known.passkey, owner)
  }

  /// The account with a passkey, and the place of the passkey in its list.
  private func owner(of id: [UInt8]) -> (AlgorandAddress, Int)? {
    for (address, known) in users {
      if let index = known.firstIndex(where: { $0.passkey.account.credentialID == id }) { return (address, index) }
    }
    return nil
  }

  // MARK: What both have in common

  /// Half an hour, in milliseconds.
  private static var timeout: JSON { .number(1_800_000) }

  private func token(of request: DemoRequest) -> String? {
    request.cookies(Self.cookie).first { sessions[$0] != nil }
  }

  /// Draws a challenge, which replaces an earlier one, for the session of a request or a new one.
  private mutating func offerChallenge(_ request: DemoRequest, _ options: ([UInt8]) -> JSON) -> Answer {
    var headers: [(name: String, value: String)] = []
    let session: String
    if let known = token(of: request) {
      session = known
    } else {
      if sessions.count >= Self.mostSessions { sessions = sessions.filter { $0.value.address != nil } }
      guard sessions.count < Self.mostSessions else {
        return Answer(response: .refused(503, "too many wallets use this demo"))
      }
      session = Base64URL.encode(randomBytes(32))
      headers = [("Set-Cookie", "\(Self.cookie)=\(session); Path=/; HttpOnly")]
    }
    // Not a letter first: a challenge that begins like data of Algorand is refused (Recovery §11).
    let random = randomBytes(32)
    let challenge: [UInt8] = [random[0] | 0x80] + random.dropFirst()
    sessions[session, default: Session()].challenge = challenge
    var response = DemoResponse.json(options(challenge), status: 201)
    response.headers = headers
    return Answer(response: response)
  }

  /// Uses up the challenge only now: after a refusal, a wallet may answer it again with another origin.
  private mutating func succeed(
    _ step: DAppStep, _ token: String, _ verdict: DemoVerdict, _ liquid: LiquidExtensionResult,
    _ passkey: BrowserRelyingParty.Passkey, _ address: AlgorandAddress
  ) -> Answer {
    sessions[token] = Session(challenge: nil, address: address)
    let credentials = (users[address] ?? []).map { known -> JSON in
      let account = known.passkey.account
      return [
        "device": .string(known.device), "publicKey": .base64URL(account.publicKey.bytes),
        "credId": .base64URL(account.credentialID), "prevCounter": .number(Int64(account.signCount)),
      ]
    }
    var shown = verdict
    shown.note("address", address.text)
    shown.note("device", liquid.device)
    return Answer(
      response: .json(["wallet": .string(address.text), "credentials": .array(credentials)], status: 201),
      event: .verified(step, shown),
      signIn: SignIn(
        requestID: liquid.requestId.text, credentialID: passkey.account.credentialID, address: address))
  }
}

extension DAppService.Answer {
  /// A refusal in the form of the service.
  fileprivate static func refused(_ status: Int, _ reason: String, _ error: String) -> Self {
    Self(response: .json(["reason": .string(reason), "error": .string(error)], status: status))
  }

  fileprivate static func unverified(_ step: DAppStep, _ verdict: DemoVerdict) -> Self {
    var answer = refused(401, "unauthorized", "User verification failed")
    answer.event = .verified(step, verdict)
    return answer
  }
}

extension DemoVerdict {
  /// Checks the output of the extension `liquid`; returns its address, if that is one.
  fileprivate mutating func checkAddress(_ liquid: LiquidExtensionResult, challenge: [UInt8]) -> AlgorandAddress? {
    check("the extension's type is algorand", liquid.type == "algorand")
    let address = AlgorandAddress(text: Array(liquid.address.utf8))
    check(
      "the address has signed the challenge",
      address.map {
        Ed25519.isValidSignature(liquid.signature.bytes, for: challenge, publicKey: $0.publicKey)
      } ?? false)
    return address
  }
}
