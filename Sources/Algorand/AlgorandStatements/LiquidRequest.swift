public import CBOR
public import CTAP2
import CryptoPrimitives
import DeterministicKeys
public import Recovery

/// The input of the extension `liquid`, after every check that comes before a prompt: Recovery §11.
public struct LiquidRequest: Sendable, Equatable {
  /// The ceremony of a request.
  public enum Ceremony: UInt8, Sendable {
    /// authenticatorMakeCredential.
    case create = 1
    /// authenticatorGetAssertion.
    case get = 2

    /// The `type` of the client data: WebAuthn §5.8.1.
    var clientDataType: String {
      switch self {
      case .create: "webauthn.create"
      case .get: "webauthn.get"
      }
    }
  }

  /// The form of the signed bytes.
  public enum Form: Sendable, Equatable {
    /// The 32 bytes of a server's challenge alone, and the requesting origin: the form that servers verify today.
    case challenge([UInt8], origin: String)
    /// A statement that binds relying party, client data and credential: for clients that do not send their client
    /// data.
    case bound
  }

  /// The parts of the enclosing request that the extension uses.
  public struct Context: Sendable {
    /// The ceremony of the request.
    public var ceremony: Ceremony
    /// rp.id as received.
    public var rpID: String
    /// The request's clientDataHash, 32 bytes.
    public var clientDataHash: [UInt8]
    /// Whether the request asks for user presence.
    public var userPresence: Bool
    /// Whether the request asks for user verification, by a pinUvAuthParam or by uv = true.
    public var userVerification: Bool

    public init(
      ceremony: Ceremony, rpID: String, clientDataHash: [UInt8], userPresence: Bool, userVerification: Bool
    ) {
      self.ceremony = ceremony
      self.rpID = rpID
      self.clientDataHash = clientDataHash
      self.userPresence = userPresence
      self.userVerification = userVerification
    }
  }

  /// The form of the signed bytes.
  public let form: Form
  /// The name of the user's device, echoed in the output.
  public let device: String?
  /// The id of the server's request, echoed in the output.
  public let requestID: String?
  private let ceremony: Ceremony
  let rpIDHash: RPIDHash
  private let clientDataHash: [UInt8]

  /// Reads and checks an input in the order of the contract; throws the status of the first fault.
  public init(_ input: CBORValue, in context: Context) throws(CTAPError) {
    if input == false { throw CTAPError(.invalidOption, "liquid is false") }
    let members = try Members(input)
    guard context.userPresence else { throw CTAPError(.invalidOption, "liquid without user presence") }
    guard context.userVerification else { throw CTAPError(.puatRequired, "liquid without user verification") }

    form =
      try members.clientDataJSON.map { clientDataJSON throws(CTAPError) in
        try Self.challengeForm(clientDataJSON, in: context)
      } ?? .bound
    device = members.device
    requestID = members.requestID
    ceremony = context.ceremony
    rpIDHash = RPIDHash(rpID: context.rpID)
    clientDataHash = context.clientDataHash
  }

  private static func challengeForm(
    _ clientDataJSON: [UInt8], in context: Context
  ) throws(CTAPError) -> Form {
    guard SHA256.hash(clientDataJSON) == context.clientDataHash else {
      throw CTAPError(.liquidClientDataHash, "the hash of liquid's client data is not clientDataHash")
    }
    guard let clientData = LiquidClientData(clientDataJSON, type: context.ceremony.clientDataType) else {
      throw CTAPError(.liquidClientDataForm, "liquid's client data do not have the required form")
    }
    guard let origin = clientData.origin(of: context.rpID) else {
      throw CTAPError(.liquidOrigin, "liquid's client data are of another origin")
    }
    guard let challenge = clientData.challenge else {
      throw CTAPError(.liquidChallenge, "liquid's challenge is not 32 bytes in base64url")
    }
    guard !LiquidReservedTags.isPrefix(of: challenge) else {
      throw CTAPError(
        .liquidReservedChallenge,
        "refused to sign: liquid's challenge could be mistaken for an Algorand transaction or program")
    }
    return .challenge(challenge, origin: origin)
  }

  /// The origin that the prompt shows; `nil` in the bound form, where only the rp.id is known.
  public var origin: String? {
    if case .challenge(_, let origin) = form { origin } else { nil }
  }

  /// The bytes that the account's key signs for one credential: 32 in challenge form, 117 in bound form.
  ///
  /// The bound form cannot be a transaction, a program or a challenge, and is valid for one site and one credential.
  func signingInput(credentialID: [UInt8]) -> [UInt8] {
    switch form {
    case .challenge(let challenge, _): challenge
    case .bound:
      Array("liquid-auth/ctap/v1".utf8) + [0, ceremony.rawValue] + rpIDHash.bytes + clientDataHash
        + SHA256.hash(credentialID)
    }
  }

  /// Signs for one credential and returns the extension's output in the authenticator data.
  ///
  /// - Parameter account: the account whose address the prompt showed.
  /// - Parameter consent: must have presence and verification, whatever the request asked for.
  public func output(
    credentialID: [UInt8], account: AlgorandAccount, consent: borrowing UserConsent
  ) throws(CTAPError) -> CBORMap {
    guard consent.userPresent, consent.userVerified else {
      throw CTAPError(.puatRequired, "liquid requires user presence and user verification")
    }
    let signature: [UInt8]
    do {
      signature = try account.signature(for: signingInput(credentialID: credentialID), consent: consent)
    } catch {
      throw CTAPError(.other, "the Algorand account cannot sign: \(error)")
    }
    var output: CBORMap = [
      "type": "algorand", "address": .text(account.address.text), "signature": .bytes(signature),
    ]
    output["device"] = device.map { .text($0) }
    output["requestId"] = requestID.map { .text($0) }
    return output
  }
}

/// The input's members, checked in this order: types, missing members, lengths.
private struct Members {
  /// `nil` in the bound form.
  let clientDataJSON: [UInt8]?
  let device: String?
  let requestID: String?

  init(_ input: CBORValue) throws(CTAPError) {
    if input == true {
      (clientDataJSON, device, requestID) = (nil, nil, nil)
      return
    }
    guard let map = input.map else { throw CTAPError(.cborUnexpectedType, "liquid is neither a map nor a boolean") }
    do throws(CBORError) {
      device = try map.optionalText("device")
      requestID = try map.optionalText("requestId")
      _ = try map.optionalBytes("clientDataJSON")
      clientDataJSON = try map.requiredBytes("clientDataJSON")
    } catch {
      throw CTAPError(error)
    }
    guard (1...1024).contains(clientDataJSON?.count ?? 0), (requestID?.utf8.count ?? 0) <= 128,
      (device?.utf8.count ?? 0) <= 64
    else { throw CTAPError(.invalidLength, "a member of liquid is too long, or its client data are empty") }
  }
}
