import AlgorandStatements
import CBOR
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Recovery

/// The wallet's side of CTAP2: sends a ceremony's commands to our authenticator, and checks the answers.
///
/// The authenticator is ours, but a server relies on its answers, so an answer that does not match the request is an
/// error.
struct AuthenticatorSession: Sendable {
  let port: any AuthenticatorPort
  /// The name of the user's device; echoed by `liquid`.
  let device: String

  /// The account that signs; a prompt asks for the passphrase if the vault is locked.
  ///
  /// Before any prompt, it checks that the authenticator supports everything that the ceremony needs.
  func account() async throws(LiquidAuthError) -> AlgorandAddress {
    let information = try await command(GetInfo.code, [:])
    let extensions = information[0x02]?.array ?? []
    guard extensions.contains(.text(LiquidExtension.identifier)) else { throw .noLiquid }
    guard information[0x04]?.map?["uv"] == true else { throw .noVerification }
    let text = try await asking { () throws(PortError) in try await port.account() }
    guard let address = AlgorandAddress(text: Array(text.utf8)) else { throw .signingFailed("it returned no address") }
    return address
  }

  /// The passkey for signing in at a host, before the server has sent its rp.id.
  ///
  /// The passkey of the host itself, or that of the nearest parent domain for which the authenticator has one;
  /// otherwise the one that phone wallets would have for the host.
  ///
  /// - Parameter parents: the other domains that the host may claim, the nearest first.
  /// - Returns: the passkey, and whether it is stored as the host's own.
  func passkey(
    of host: String, or parents: [String]
  ) async throws(LiquidAuthError) -> (passkey: WalletPasskey, isOwn: Bool) {
    let own = try await passkey(of: host, for: host)
    if own.isStored { return (own, true) }
    for parent in parents {
      let passkey = try await passkey(of: parent, for: host)
      if passkey.isStored { return (passkey, false) }
    }
    return (own, false)
  }

  private func passkey(of rpID: String, for host: String) async throws(LiquidAuthError) -> WalletPasskey {
    try await asking { () throws(PortError) in try await port.walletPasskey(rpID: rpID, host: host) }
  }

  private func asking<Answer>(
    _ question: () async throws(PortError) -> Answer
  ) async throws(LiquidAuthError) -> Answer {
    do throws(PortError) { return try await question() } catch { throw .authenticator(error) }
  }

  /// Sends a CTAP2 message and decodes the map in the answer: CTAP §8.
  private func command(
    _ code: UInt8, _ parameters: CBORMap, rpID: String = ""
  ) async throws(LiquidAuthError) -> CBORMap {
    let message = [code] + (parameters.isEmpty ? [] : CBOREncoder.encode(.map(parameters)))
    let answer = try await asking { () throws(PortError) in try await port.respond(to: message) }
    guard let status = answer.first else { throw .signingFailed("its answer is empty") }
    guard status == CTAPStatus.success.rawValue else { throw LiquidAuthError(status: status, rpID: rpID) }
    guard let members = (try? CBORDecoder.decode(Array(answer.dropFirst())))?.map else {
      throw .signingFailed("its answer is not canonical CBOR")
    }
    return members
  }
}

/// The common parameters of both ceremonies.
struct CeremonyRequest {
  let ceremony: LiquidCeremony
  let rpID: String
  let challenge: Challenge
  let requestID: RequestID
  let address: AlgorandAddress
}

// MARK: - The two ceremonies

extension AuthenticatorSession {
  /// authenticatorMakeCredential (CTAP §6.1): a new passkey of the account, discoverable, ES256, user.id the address.
  ///
  /// - Parameter excluded: ids that the server already knows.
  func makeCredential(
    _ request: CeremonyRequest, _ clientData: ClientData, excluding excluded: [[UInt8]]
  ) async throws(LiquidAuthError) -> AttestedPasskey {
    let address = request.address.text
    var parameters: CBORMap = [
      0x01: .bytes(clientData.hash),
      0x02: ["id": .text(request.rpID), "name": .text(request.rpID)],
      0x03: ["id": .bytes(Array(address.utf8)), "name": .text(address), "displayName": .text(address)],
      0x04: [["alg": CBORValue(COSEAlgorithm.es256.rawValue), "type": "public-key"]],
      0x06: liquid(request, clientData),
      0x07: ["rk": true, "uv": true],
      0x0B: ["none"],
    ]
    if !excluded.isEmpty { parameters[0x05] = Self.descriptors(excluded) }
    let answer = try await command(MakeCredential.code, parameters, rpID: request.rpID)
    guard answer[0x01] == "none", answer[0x03] == .map([:]) else {
      throw .signingFailed("it used an attestation format that was not requested")
    }
    let (bytes, data) = try authenticatorData(answer, request)
    guard let attested = data.attestedCredentialData, attested.publicKey.publicKey.algorithm == .es256 else {
      throw .signingFailed("its answer to a registration has no new ES256 key")
    }
    return AttestedPasskey(
      id: attested.credentialID, authenticatorData: bytes, liquid: try output(of: data, answering: request))
  }

  /// authenticatorGetAssertion (CTAP §6.2) with one passkey.
  func getAssertion(
    _ request: CeremonyRequest, _ clientData: ClientData, by id: [UInt8]
  ) async throws(LiquidAuthError) -> Assertion {
    let answer = try await command(
      GetAssertion.code,
      [
        0x01: .text(request.rpID), 0x02: .bytes(clientData.hash), 0x03: Self.descriptors([id]),
        0x04: liquid(request, clientData), 0x05: ["uv": true],
      ], rpID: request.rpID)
    guard answer[0x01]?.map?["id"] == .bytes(id) else {
      throw .signingFailed("the signature is from a different passkey")
    }
    let (bytes, data) = try authenticatorData(answer, request)
    guard data.attestedCredentialData == nil, let signature = answer[0x03]?.bytes, !signature.isEmpty else {
      throw .signingFailed("its answer to a sign-in has no signature, or a new passkey")
    }
    return Assertion(
      authenticatorData: bytes, signature: signature, userHandle: answer[0x04]?.map?["id"]?.bytes,
      liquid: try output(of: data, answering: request))
  }

  private static func descriptors(_ ids: [[UInt8]]) -> CBORValue {
    .array(ids.map { ["id": .bytes($0), "type": "public-key"] })
  }

  /// The extensions of a request: `liquid` in challenge form, Recovery §11.
  private func liquid(_ request: CeremonyRequest, _ clientData: ClientData) -> CBORValue {
    [
      .text(LiquidExtension.identifier): [
        "device": .text(device), "requestId": .text(request.requestID.text), "clientDataJSON": .bytes(clientData.json),
      ]
    ]
  }

  /// The authenticator data of an answer (member 2 of both), for this relying party and with a verified user.
  private func authenticatorData(
    _ answer: CBORMap, _ request: CeremonyRequest
  ) throws(LiquidAuthError) -> (bytes: [UInt8], data: AuthenticatorData) {
    guard let bytes = answer[0x02]?.bytes, let data = try? AuthenticatorData(parsing: bytes) else {
      throw .signingFailed("its authenticator data cannot be read")
    }
    guard data.rpIDHash == RPIDHash(rpID: request.rpID) else {
      throw .signingFailed("its answer is for another site")
    }
    guard data.flags.isSuperset(of: [.userPresent, .userVerified]) else { throw .notVerified }
    return (bytes, data)
  }

  /// The output of `liquid`: this account's signature over this challenge, for this request.
  private func output(
    of data: AuthenticatorData, answering request: CeremonyRequest
  ) throws(LiquidAuthError) -> LiquidExtensionResult {
    guard let output = data.extensions[.text(LiquidExtension.identifier)]?.map, output["type"] == "algorand",
      output["requestId"] == .text(request.requestID.text), output["device"] == .text(device),
      let signature = output["signature"]?.bytes
    else { throw .signingFailed("its answer has no output of the extension liquid for this request") }
    guard let address = output["address"]?.text, address.utf8.elementsEqual(request.address.text.utf8) else {
      throw .signingFailed("the signature is from a different Algorand account")
    }
    let isValid = Ed25519.isValidSignature(
      signature, for: request.challenge.bytes, publicKey: request.address.publicKey)
    guard isValid else { throw .signingFailed("the Algorand account's signature is not over the challenge") }
    return LiquidExtensionResult(
      requestId: request.requestID, address: address, signature: Base64URLBytes(signature), device: device)
  }
}

/// A new passkey, as sent to the server.
struct AttestedPasskey: Equatable {
  let id: [UInt8]
  let authenticatorData: [UInt8]
  let liquid: LiquidExtensionResult

  /// `{fmt: "none", attStmt: {}, authData}`: WebAuthn §6.5.4, §8.7.
  var attestationObject: [UInt8] {
    CBOREncoder.encode(.map(["fmt": "none", "attStmt": [:], "authData": .bytes(authenticatorData)]))
  }
}

/// A sign-in, as sent to the server.
struct Assertion: Equatable {
  let authenticatorData: [UInt8]
  let signature: [UInt8]
  let userHandle: [UInt8]?
  let liquid: LiquidExtensionResult
}

// MARK: - Errors

extension LiquidAuthError {
  /// A status other than success: CTAP §6.3, and those of `liquid` in Recovery §11.
  init(status: UInt8, rpID: String) {
    self =
      switch CTAPStatus(rawValue: status) {
      case .operationDenied, .keepaliveCancel: .userCanceled
      case .userActionTimeout, .actionTimeout: .timedOut
      case .puatRequired, .pinAuthInvalid, .pinBlocked, .pinAuthBlocked, .uvInvalid, .uvBlocked: .notVerified
      case .invalidOption, .unsupportedOption: .noVerification
      case .noCredentials: .noCredential(rpID: rpID)
      case .credentialExcluded: .alreadyRegistered(rpID: rpID)
      case .keyStoreFull: .signingFailed("there is no space for another passkey")
      case .liquidClientDataForm, .liquidClientDataHash: .signingFailed("it does not know this form of client data")
      case .liquidOrigin: .signingFailed("it considers the origin to be another site's")
      case .liquidChallenge: .challengeForm
      case .liquidReservedChallenge: .reservedChallenge
      default: .signingFailed("status \(status.hexadecimal)")
      }
  }
}

extension UInt8 {
  /// Two hexadecimal digits, as in the standard's tables.
  fileprivate var hexadecimal: String {
    let digits = String(self, radix: 16, uppercase: true)
    return digits.count == 2 ? digits : "0" + digits
  }
}
