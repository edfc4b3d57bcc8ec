public import CBOR
public import Recovery

/// authenticatorGetInfo: the identity and the capabilities of this authenticator, CTAP §6.4.
///
/// It never shows a prompt.
public enum GetInfo: Sendable {
  /// The answer of getInfo.
  public struct Response: AuthenticatorResponse, Equatable {
    /// Whether it goes to a browser on another computer: ``HybridRequest``.
    let isHybrid: Bool
    /// Extension identifiers, in the order of composition.
    public let extensions: [String]
    /// Whether built-in user verification is set up.
    public let userVerification: Bool
    /// The settings that getInfo reports.
    public let settings: ReportedSettings
    /// How many more discoverable credentials can be registered; `nil` while the vault is locked.
    public let remainingDiscoverableCredentials: Int?
    /// The encrypted device identifier, 32 bytes, for holders of the persistent token; `nil` while the vault is locked.
    public var encIdentifier: [UInt8]?
    /// The encrypted state of the passkeys, 32 bytes, for the same holders.
    public var encCredStoreState: [UInt8]?

    /// CTAP §6.4, by member.
    public var parameters: CBORMap? { members }

    private var members: CBORMap { isHybrid ? hybridMembers : ownMembers }

    /// The transports, WebAuthn §5.8.4: sites keep them with a passkey, and browsers show a code only for a passkey with
    /// `hybrid`.
    private static let transports: CBORValue = ["hybrid", "usb"]

    /// No PIN and no hmac-secret: Chromium would ask for a token, and then waits for ever.
    private var hybridMembers: CBORMap {
      [
        0x01: .array(Self.versions),
        0x02: extensions.isEmpty ? nil : .array(extensions.map { .text($0) }),
        0x03: .bytes(AAGUID.liquidAuth.bytes),
        0x04: .map(["rk": true, "up": true, "uv": userVerification ? true : nil, "plat": false]),
        0x05: CBORValue(Authenticator.maxMsgSize),
        0x07: CBORValue(Limits.credentialCountInList),
        0x08: CBORValue(Limits.credentialIDLength),
        0x09: Self.transports,
        0x0A: Self.algorithms,
        0x0F: extensions.contains(CredBlob.identifier) ? CBORValue(CredBlob.maximumLength) : nil,
        0x16: [.text(AttestationObject.Format.packed.rawValue)],
      ]
    }

    private static let algorithms = CBORValue.array(
      COSEAlgorithm.allCases.map { ["alg": CBORValue($0.rawValue), "type": "public-key"] })

    private var ownMembers: CBORMap {
      [
        0x01: .array((settings.alwaysUV ? [] : ["U2F_V2"]) + Self.versions),
        0x02: extensions.isEmpty ? nil : .array(extensions.map { .text($0) }),
        0x03: .bytes(AAGUID.liquidAuth.bytes),
        0x04: .map(options),
        0x05: CBORValue(Authenticator.maxMsgSize),
        0x06: .array(PINUVAuthProtocol.byPreference.map { .unsigned($0.rawValue) }),
        0x07: CBORValue(Limits.credentialCountInList),
        0x08: CBORValue(Limits.credentialIDLength),
        0x09: Self.transports,
        0x0A: Self.algorithms,
        0x0B: CBORValue(SerializedLargeBlobs.capacity),
        0x0C: .bool(settings.forcePINChange),
        0x0D: .unsigned(UInt64(settings.minimumPINLength)),
        0x0F: extensions.contains(CredBlob.identifier) ? CBORValue(CredBlob.maximumLength) : nil,
        0x10: CBORValue(AuthenticatorSettings.maximumRPIDs),
        0x12: userVerification ? .unsigned(modality) : nil,
        0x14: remainingDiscoverableCredentials.map { CBORValue($0) },
        0x16: [.text(AttestationObject.Format.packed.rawValue)],
        0x19: encIdentifier.map { .bytes($0) },
        0x1D: .unsigned(UInt64(AuthenticatorSettings.longestPIN)),
        0x1E: encCredStoreState.map { .bytes($0) },
        0x1F: .array(Config.Subcommand.allCases.map { .unsigned($0.rawValue) }),
      ]
    }

    /// The members that are encrypted anew for each response.
    private var encryptedMembers: [[UInt8]] { [encIdentifier, encCredStoreState].compactMap(\.self) }

    /// The encoding of a response.
    struct Encoding: Sendable {
      /// The response map.
      let bytes: [UInt8]
      /// The response without its encrypted members.
      private let lasting: Response
      /// Where the encrypted members begin.
      private let places: [Int]

      init(of response: Response) {
        let bytes = CBOREncoder.encode(.map(response.members))
        self.bytes = bytes
        lasting = response.withoutEncryptedMembers
        places = response.encryptedMembers.compactMap { member in
          bytes.indices.first { bytes[$0...].starts(with: member) }
        }
      }

      /// The encoding of a response that differs only in the encrypted members; `nil` for any other.
      func bytes(for response: Response) -> [UInt8]? {
        let members = response.encryptedMembers
        guard members.count == places.count, response.withoutEncryptedMembers == lasting else { return nil }
        var bytes = bytes
        for (place, member) in zip(places, members) {
          bytes.replaceSubrange(place..<place + member.count, with: member)
        }
        return bytes
      }
    }

    private var withoutEncryptedMembers: Response {
      var response = self
      (response.encIdentifier, response.encCredStoreState) = (nil, nil)
      return response
    }

    /// CTAP 2.2 has no version string: "FIDO_2_2" must not be listed (CTAP §6.4).
    private static let versions: [CBORValue] = ["FIDO_2_0", "FIDO_2_1", "FIDO_2_3"]

    /// uvModality: USER_VERIFY_PASSCODE_INTERNAL for the passphrase, and USER_VERIFY_FINGERPRINT_INTERNAL if a
    /// fingerprint verifies too (FIDO Registry of Predefined Values, §3.1).
    ///
    /// PAM adds none: its answers are typed in the authenticator's own prompt, as the passphrase is, and what its stack asks
    /// for is not known. USER_VERIFY_PASSCODE_EXTERNAL means the clientPIN, and must not be included (CTAP §6.4).
    private var modality: UInt64 { settings.means.contains(.fingerprint) ? 0x04 | 0x02 : 0x04 }

    /// Without verification, `uv` and `uvAcfg` are absent, not false: the platform could not set anything up.
    ///
    /// makeCredUvNotRqd is present only with pinUvAuthToken: for a key with uv and without tokens, Chromium takes it as
    /// permission to ask for no verification at all.
    private var options: CBORMap {
      [
        "rk": true, "up": true, "uv": userVerification ? true : nil, "plat": false,
        "uvAcfg": userVerification ? true : nil, "alwaysUv": .bool(settings.alwaysUV), "credMgmt": true,
        "authnrCfg": true, "clientPin": .bool(settings.isPINSet), "largeBlobs": true, "perCredMgmtRO": true,
        "pinUvAuthToken": true,
        "setMinPINLength": true, "makeCredUvNotRqd": .bool(!settings.alwaysUV),
      ]
    }
  }

  /// The limits that getInfo reports: Recovery §4.
  enum Limits {
    static let credentialCountInList = 6
    static let credentialIDLength = 128
  }
}
