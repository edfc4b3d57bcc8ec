public import CBOR

/// authenticatorClientPIN: the PIN, and tokens for verified users, CTAP §6.5.
public enum ClientPIN: Sendable {
  /// The supported sub-commands: CTAP §6.5.5.
  enum Subcommand: UInt64 {
    case getPINRetries = 0x01
    case getKeyAgreement = 0x02
    case setPIN = 0x03
    case changePIN = 0x04
    case getPinToken = 0x05
    case getPinUvAuthTokenUsingUvWithPermissions = 0x06
    case getUVRetries = 0x07
    case getPinUvAuthTokenUsingPinWithPermissions = 0x09
  }

  /// The parameters of authenticatorClientPIN: CTAP §6.5.5.
  ///
  /// Every member is read, for any sub-command; functions return the required ones.
  public struct Request: AuthenticatorRequest {
    /// 0x02.
    let subcommand: Subcommand
    /// 0x01.
    private let version: UInt64?
    /// 0x03.
    private let keyAgreementMap: CBORMap?
    /// 0x04.
    private let param: [UInt8]?
    /// 0x05.
    private let newPINEncrypted: [UInt8]?
    /// 0x06.
    private let pinHashEncrypted: [UInt8]?
    /// 0x09.
    let permissions: TokenPermissions?
    /// 0x0A.
    public let rpID: String?

    /// Reads the members.
    ///
    /// - Throws: `missingParameter` without a sub-command, `invalidSubcommand` for an unknown one.
    public init(parameters: CBORMap) throws(CTAPError) {
      let number: UInt64
      do throws(CBORError) {
        version = try parameters.optionalUnsigned(0x01)
        number = try parameters.requiredUnsigned(0x02)
        keyAgreementMap = try parameters.optionalMap(0x03)
        param = try parameters.optionalBytes(0x04)
        newPINEncrypted = try parameters.optionalBytes(0x05)
        pinHashEncrypted = try parameters.optionalBytes(0x06)
        permissions = try parameters.optionalUnsigned(0x09).map(TokenPermissions.init)
        rpID = try parameters.optionalText(0x0A)
      } catch {
        throw CTAPError(error)
      }
      guard let subcommand = Subcommand(rawValue: number) else {
        throw CTAPError(.invalidSubcommand, "clientPIN has no sub-command \(number)")
      }
      self.subcommand = subcommand
    }

    /// pinUvAuthProtocol.
    func requiredVersion() throws(CTAPError) -> PINUVAuthProtocol {
      try PINUVAuthProtocol(number: version.required("pinUvAuthProtocol"))
    }
    /// keyAgreement, in COSE form.
    func requiredKeyAgreement() throws(CTAPError) -> CBORMap { try keyAgreementMap.required("keyAgreement") }
    /// pinUvAuthParam.
    func requiredParam() throws(CTAPError) -> [UInt8] { try param.required("pinUvAuthParam") }
    /// newPinEnc.
    func requiredNewPIN() throws(CTAPError) -> [UInt8] { try newPINEncrypted.required("newPinEnc") }
    /// pinHashEnc.
    func requiredPINHash() throws(CTAPError) -> [UInt8] { try pinHashEncrypted.required("pinHashEnc") }
    /// permissions.
    func requiredPermissions() throws(CTAPError) -> TokenPermissions { try permissions.required("permissions") }
  }

  /// The answer of authenticatorClientPIN: the one or two members of the sub-command, or none.
  public struct Response: AuthenticatorResponse {
    /// 1 keyAgreement, 2 pinUvAuthToken, 3 pinRetries, 4 powerCycleState, 5 uvRetries.
    public let parameters: CBORMap?

    static let done = Response(parameters: nil)
    static func keyAgreement(_ key: CBORMap) -> Response { Response(parameters: [0x01: .map(key)]) }
    static func token(_ encrypted: [UInt8]) -> Response { Response(parameters: [0x02: .bytes(encrypted)]) }
    /// powerCycleState is present only if it is true.
    static func pinRetries(_ count: UInt8, needsPowerCycle: Bool) -> Response {
      var members: CBORMap = [0x03: .unsigned(UInt64(count))]
      if needsPowerCycle { members[0x04] = true }
      return Response(parameters: members)
    }
    static func uvRetries(_ count: Int) -> Response { Response(parameters: [0x05: CBORValue(count)]) }
  }
}
