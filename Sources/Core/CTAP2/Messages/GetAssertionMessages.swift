public import CBOR
public import Recovery

/// authenticatorGetAssertion: a sign-in, CTAP §6.2.
public enum GetAssertion: Sendable {
  /// The parameters of authenticatorGetAssertion: CTAP §6.2.1.
  public struct Request: AuthenticatorRequest {
    /// 0x01.
    public let rpIdentifier: String
    /// 0x02, 32 bytes.
    public let clientDataHash: [UInt8]
    /// 0x03; empty when absent.
    public let allowList: [PublicKeyCredentialDescriptor]
    /// 0x04; empty when absent.
    public let extensionInputs: CBORMap
    /// 0x05.
    let options: CeremonyOptions
    /// 0x06 and 0x07.
    let pinUvAuth: PINUVAuthParameters

    /// rpId.
    public var rpID: String? { rpIdentifier }

    /// Reads every member, and every entry of the list.
    public init(parameters: CBORMap) throws(CTAPError) {
      do throws(CBORError) {
        rpIdentifier = try parameters.requiredText(0x01)
        clientDataHash = try parameters.requiredBytes(0x02)
        allowList = try parameters.optionalArray(0x03)?.entries(PublicKeyCredentialDescriptor.init) ?? []
        extensionInputs = try parameters.optionalMap(0x04) ?? CBORMap()
        options = try CeremonyOptions(parameters.optionalMap(0x05))
        pinUvAuth = try PINUVAuthParameters(
          param: parameters.optionalBytes(0x06), version: parameters.optionalUnsigned(0x07))
      } catch {
        throw CTAPError(error)
      }
      try clientDataHash.checkIsHash()
      guard !rpIdentifier.isEmpty else { throw CTAPError(.invalidLength, "rpId is empty") }
    }

    /// Whether the request needs user presence.
    public var asksForPresence: Bool { options.up != false }

    /// Whether verification is requested, by `uv` or by a pinUvAuthParam.
    public var asksForVerification: Bool { options.uv == true || pinUvAuth.param != nil }
  }

  /// The answer of authenticatorGetAssertion and authenticatorGetNextAssertion: CTAP §6.2.3.
  public struct Response: AuthenticatorResponse {
    /// The credential that signed; always present, also for a list of one (Recovery §4).
    public let credential: PublicKeyCredentialDescriptor
    /// The signed authenticator data.
    public let authenticatorData: [UInt8]
    /// Over authenticator data ‖ clientDataHash.
    public let signature: [UInt8]
    /// The account of a discoverable credential.
    public let user: PublicKeyCredentialUserEntity?
    /// Members of extensions: 7 largeBlobKey.
    public let extensionMembers: CBORMap
    /// The number of accounts, if more than one; in the first answer only.
    public var numberOfCredentials: Int?
    /// Whether the user confirmed this account in the authenticator's prompt, so that the platform need not ask again.
    public var userSelected = false

    /// 1 credential, 2 authData, 3 signature, 4 user, 5 numberOfCredentials, 6 userSelected, and the members of
    /// extensions.
    public var parameters: CBORMap? {
      var members: CBORMap = [
        0x01: .map(credential.cbor), 0x02: .bytes(authenticatorData), 0x03: .bytes(signature),
      ]
      members[0x04] = user.map { .map($0.cbor) }
      members[0x05] = numberOfCredentials.map { CBORValue($0) }
      if userSelected { members[0x06] = true }
      members.add(extensionMembers)
      return members
    }
  }
}
