public import CTAP2

/// The extensions of the authenticator; no other list has them.
public enum SupportedExtensions {
  /// All of them, in the order in which getInfo names them.
  public static let all: [any AuthenticatorExtension.Type] = [
    CredProtect.self, CredBlob.self, LargeBlobKey.self, MinPINLength.self, HMACSecret.self, HMACSecretMC.self,
    ThirdPartyPayment.self, LiquidExtension.self,
  ]

  /// Those of requests by hybrid transports: they need no PIN, and no other command.
  public static let hybrid: [any AuthenticatorExtension.Type] = [CredProtect.self, CredBlob.self, PRF.self]
}
