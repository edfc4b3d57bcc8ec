public import CBOR
public import Recovery

/// authenticatorMakeCredential: a registration, CTAP §6.1.
public enum MakeCredential: Sendable {
  /// The parameters of authenticatorMakeCredential: CTAP §6.1.1.
  public struct Request: AuthenticatorRequest {
    /// 0x01, 32 bytes.
    public let clientDataHash: [UInt8]
    /// 0x02.
    public let rp: PublicKeyCredentialRPEntity
    /// 0x03.
    public let user: PublicKeyCredentialUserEntity
    /// 0x04: the supported algorithms of the list, in its order.
    public let algorithms: [COSEAlgorithm]
    /// 0x05; empty when absent.
    public let excludeList: [PublicKeyCredentialDescriptor]
    /// 0x06; empty when absent.
    public let extensionInputs: CBORMap
    /// 0x07.
    let options: CeremonyOptions
    /// 0x08 and 0x09.
    let pinUvAuth: PINUVAuthParameters
    /// 0x0A.
    let enterpriseAttestation: UInt64?
    /// Chosen by 0x0B.
    let attestationFormat: AttestationObject.Format

    /// rp.id.
    public var rpID: String? { rp.id }

    /// Reads every member, and every entry of each list.
    public init(parameters: CBORMap) throws(CTAPError) {
      do throws(CBORError) {
        clientDataHash = try parameters.requiredBytes(0x01)
        rp = try PublicKeyCredentialRPEntity(parameters.requiredMap(0x02))
        user = try PublicKeyCredentialUserEntity(parameters.requiredMap(0x03))
        algorithms = try parameters.requiredArray(0x04).entries(PublicKeyCredentialParameters.init)
          .compactMap(\.algorithm)
        excludeList = try parameters.optionalArray(0x05)?.entries(PublicKeyCredentialDescriptor.init) ?? []
        extensionInputs = try parameters.optionalMap(0x06) ?? CBORMap()
        options = try CeremonyOptions(parameters.optionalMap(0x07))
        pinUvAuth = try PINUVAuthParameters(
          param: parameters.optionalBytes(0x08), version: parameters.optionalUnsigned(0x09))
        enterpriseAttestation = try parameters.optionalUnsigned(0x0A)
        attestationFormat = .init(preference: try parameters.optionalArray(0x0B)?.compactMap(\.text) ?? [])
      } catch {
        throw CTAPError(error)
      }
      try clientDataHash.checkIsHash()
      // An empty user.id is valid (CTAP §6.1), but a discoverable credential is stored and found by it (Recovery §6).
      let shortest = options.rk == true ? 1 : 0
      guard (shortest...CredentialParameters.maximumUserIDLength).contains(user.id.count) else {
        throw CTAPError(.invalidLength, "user.id has \(user.id.count) bytes")
      }
      guard !rp.id.isEmpty else { throw CTAPError(.invalidLength, "rp.id is empty") }
    }

    /// The prompt, without the additions of extensions.
    func prompt(_ purpose: UserPrompt.Purpose) -> UserPrompt {
      UserPrompt(
        purpose: purpose, rpID: rp.id, accountName: user.name, accountDisplayName: user.displayName)
    }

    /// Whether the request needs user presence.
    public var asksForPresence: Bool { options.up != false }

    /// Whether verification is requested, by `uv` or by a pinUvAuthParam.
    public var asksForVerification: Bool { options.uv == true || pinUvAuth.param != nil }
  }

  /// The answer of authenticatorMakeCredential: CTAP §6.1.3.
  public struct Response: AuthenticatorResponse {
    /// Format, authenticator data and statement.
    public let attestation: AttestationObject
    /// Members of extensions: 5 largeBlobKey.
    public let extensionMembers: CBORMap

    /// 1 fmt, 2 authData, 3 attStmt, and the members of extensions.
    public var parameters: CBORMap? {
      var members: CBORMap = [
        0x01: .text(attestation.format.rawValue), 0x02: .bytes(attestation.authenticatorData),
        0x03: .map(attestation.statement),
      ]
      members.add(extensionMembers)
      return members
    }
  }
}

extension [UInt8] {
  /// Checks that clientDataHash has 32 bytes, so that no other data can follow the signed authenticator data.
  func checkIsHash() throws(CTAPError) {
    guard count == 32 else { throw CTAPError(.invalidLength, "clientDataHash has \(count) bytes") }
  }
}
