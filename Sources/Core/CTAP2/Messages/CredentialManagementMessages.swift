public import CBOR
import Recovery

/// authenticatorCredentialManagement: lists, renames and removes discoverable credentials, CTAP §6.8.
public enum CredentialManagement: Sendable {
  /// The sub-commands: CTAP §6.8.1.
  enum Subcommand: UInt64 {
    case getCredsMetadata = 0x01
    case enumerateRPsBegin = 0x02
    case enumerateRPsGetNextRP = 0x03
    case enumerateCredentialsBegin = 0x04
    case enumerateCredentialsGetNextCredential = 0x05
    case deleteCredential = 0x06
    case updateUserInformation = 0x07
  }

  /// A sub-command with its required parameters.
  enum Operation: Sendable {
    case getMetadata
    case enumerateRPs
    case enumerateCredentials(RPIDHash)
    case delete(id: [UInt8])
    case update(id: [UInt8], PublicKeyCredentialUserEntity)

    /// Whether it only reads, so that the token of permission pcmr is enough.
    var isReading: Bool {
      switch self {
      case .getMetadata, .enumerateRPs, .enumerateCredentials: true
      case .delete, .update: false
      }
    }
  }

  /// The parameters of authenticatorCredentialManagement: CTAP §6.8.1.
  public struct Request: AuthenticatorRequest {
    /// 0x01.
    let subcommand: Subcommand
    /// 0x02.
    private let subcommandParams: CBORMap?
    /// 0x03 and 0x04.
    let pinUvAuth: PINUVAuthParameters
    /// 0x01 of 0x02.
    private let rpIDHash: RPIDHash?
    /// 0x02 of 0x02.
    private let credential: PublicKeyCredentialDescriptor?
    /// 0x03 of 0x02.
    private let user: PublicKeyCredentialUserEntity?

    /// Reads every member, for any sub-command.
    ///
    /// - Throws: `missingParameter` without a sub-command, `invalidSubcommand` for an unknown one.
    public init(parameters: CBORMap) throws(CTAPError) {
      let number: UInt64
      let hash: [UInt8]?
      do throws(CBORError) {
        number = try parameters.requiredUnsigned(0x01)
        subcommandParams = try parameters.optionalMap(0x02)
        pinUvAuth = try PINUVAuthParameters(
          param: parameters.optionalBytes(0x04), version: parameters.optionalUnsigned(0x03))
        hash = try subcommandParams?.optionalBytes(0x01)
        credential = try subcommandParams?.optionalMap(0x02).map(PublicKeyCredentialDescriptor.init)
        user = try subcommandParams?.optionalMap(0x03).map(PublicKeyCredentialUserEntity.init)
      } catch {
        throw CTAPError(error)
      }
      guard let subcommand = Subcommand(rawValue: number) else {
        throw CTAPError(.invalidSubcommand, "credentialManagement has no sub-command \(number)")
      }
      self.subcommand = subcommand
      rpIDHash = hash.flatMap(RPIDHash.init(bytes:))
      guard hash == nil || rpIDHash != nil else { throw CTAPError(.invalidLength, "rpIDHash is not a SHA-256") }
    }

    /// The operation; `nil` for continuing an enumeration, which takes neither a token nor parameters.
    ///
    /// - Throws: `missingParameter` for a member that the sub-command needs.
    func operation() throws(CTAPError) -> Operation? {
      switch subcommand {
      case .getCredsMetadata: .getMetadata
      case .enumerateRPsBegin: .enumerateRPs
      case .enumerateCredentialsBegin: .enumerateCredentials(try rpIDHash.required("rpIDHash"))
      case .deleteCredential: .delete(id: try credential.required("credentialID").id)
      case .updateUserInformation:
        .update(id: try credential.required("credentialID").id, try user.required("user"))
      case .enumerateRPsGetNextRP, .enumerateCredentialsGetNextCredential: nil
      }
    }

    /// The data that pinUvAuthParam authenticates: subCommand ‖ subCommandParams, as the bytes were received.
    ///
    /// The decoder accepts only the canonical form, so encoding again gives the received bytes.
    var authenticatedMessage: [UInt8] {
      [UInt8(subcommand.rawValue)] + (subcommandParams.map { CBOREncoder.encode(.map($0)) } ?? [])
    }
  }

  /// The answer of authenticatorCredentialManagement: the members of the sub-command, or none.
  public struct Response: AuthenticatorResponse {
    /// CTAP §6.8.1, by member.
    public let parameters: CBORMap?

    static let done = Response(parameters: nil)

    /// 1 existingResidentCredentialsCount, 2 maxPossibleRemainingResidentCredentialsCount.
    static func metadata(existing: Int, remaining: Int) -> Response {
      Response(parameters: [0x01: CBORValue(existing), 0x02: CBORValue(remaining)])
    }

    /// 3 rp, 4 rpIDHash, and in the first answer 5 totalRPs.
    static func relyingParty(_ rpID: String, total: Int?) -> Response {
      var members: CBORMap = [0x03: ["id": .text(rpID)], 0x04: .bytes(RPIDHash(rpID: rpID).bytes)]
      members[0x05] = total.map { CBORValue($0) }
      return Response(parameters: members)
    }

    /// 6 user, 7 credentialID, 8 publicKey, in the first answer 9 totalCredentials, 0x0A credProtect, 0x0B largeBlobKey
    /// if the credential has one, 0x0C thirdPartyPayment.
    static func credential(
      _ source: CredentialSource, publicKey: CredentialPublicKey, largeBlobKey: [UInt8]?, total: Int?
    ) -> Response {
      let user = PublicKeyCredentialUserEntity(id: source.userID, name: source.name, displayName: source.displayName)
      var members: CBORMap = [
        0x06: .map(user.cbor), 0x07: .map(PublicKeyCredentialDescriptor(id: source.id).cbor),
        0x08: .map(COSEKey(publicKey).map), 0x0A: .unsigned(UInt64(source.policy.credProtect.rawValue)),
        0x0C: .bool(source.policy.thirdPartyPayment),
      ]
      members[0x09] = total.map { CBORValue($0) }
      members[0x0B] = largeBlobKey.map { .bytes($0) }
      return Response(parameters: members)
    }
  }
}
