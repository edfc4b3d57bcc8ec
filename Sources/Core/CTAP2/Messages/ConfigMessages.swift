public import CBOR

/// authenticatorConfig: settings that the owner changes with a platform, CTAP §6.11.
public enum Config: Sendable {
  /// The supported sub-commands, as getInfo lists them: CTAP §6.11.
  ///
  /// Enterprise attestation is not among them: this is an authenticator for consumers.
  enum Subcommand: UInt64, CaseIterable {
    case toggleAlwaysUv = 0x02
    case setMinPINLength = 0x03
  }

  /// The parameters of authenticatorConfig: CTAP §6.11.
  public struct Request: AuthenticatorRequest {
    /// 0x01.
    let subcommand: Subcommand
    /// 0x02.
    private let subcommandParams: CBORMap?
    /// 0x03 and 0x04.
    let pinUvAuth: PINUVAuthParameters
    /// newMinPINLength, 0x01 of 0x02.
    let newMinPINLength: UInt64?
    /// minPinLengthRPIDs, 0x02 of 0x02.
    let minPinLengthRPIDs: [String]?
    /// forceChangePin, 0x03 of 0x02.
    let forceChangePin: Bool
    /// pinComplexityPolicy, 0x04 of 0x02.
    let pinComplexityPolicy: Bool

    /// Reads every member, for any sub-command.
    ///
    /// - Throws: `missingParameter` without a sub-command, `invalidParameter` for an unknown one.
    public init(parameters: CBORMap) throws(CTAPError) {
      let number: UInt64
      do throws(CBORError) {
        number = try parameters.requiredUnsigned(0x01)
        subcommandParams = try parameters.optionalMap(0x02)
        pinUvAuth = try PINUVAuthParameters(
          param: parameters.optionalBytes(0x04), version: parameters.optionalUnsigned(0x03))
        newMinPINLength = try subcommandParams?.optionalUnsigned(0x01)
        minPinLengthRPIDs = try subcommandParams?.optionalArray(0x02)?.texts()
        forceChangePin = try subcommandParams?.optionalBool(0x03) ?? false
        pinComplexityPolicy = try subcommandParams?.optionalBool(0x04) ?? false
      } catch {
        throw CTAPError(error)
      }
      guard let subcommand = Subcommand(rawValue: number) else {
        throw CTAPError(.invalidParameter, "authenticatorConfig has no sub-command \(number)")
      }
      self.subcommand = subcommand
    }

    /// The data that pinUvAuthParam authenticates: 32 × FF ‖ 0D ‖ subCommand ‖ subCommandParams, as the bytes were
    /// received.
    var authenticatedMessage: [UInt8] {
      [UInt8](repeating: 0xFF, count: 32) + [Config.code, UInt8(subcommand.rawValue)]
        + (subcommandParams.map { CBOREncoder.encode(.map($0)) } ?? [])
    }
  }
}

extension [CBORValue] {
  /// Reads a list of texts.
  fileprivate func texts() throws(CBORError) -> [String] {
    var texts: [String] = []
    for element in self {
      guard let text = element.text else { throw .unexpectedType("a list entry is not a text") }
      texts.append(text)
    }
    return texts
  }
}
