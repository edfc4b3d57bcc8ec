import Recovery

extension GetInfo: AuthenticatorCommand {
  /// CTAP §6.4.
  public static let code: UInt8 = 0x04
  /// The name in the standard.
  public static let name = "authenticatorGetInfo"

  /// Lists only what is fully supported.
  public static func run(
    _ request: NoParameters, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response {
    let encrypted = context.isHybrid ? nil : try authenticator.keySource.current?.encryptedStates()
    return Response(
      isHybrid: context.isHybrid, extensions: authenticator.extensions(in: context).map { $0.identifier },
      userVerification: authenticator.interaction.canVerify, settings: try authenticator.reportedSettings(),
      remainingDiscoverableCredentials: try authenticator.remainingDiscoverableCredentials(),
      encIdentifier: encrypted?.identifier, encCredStoreState: encrypted?.credentialStore)
  }

  /// Encodes the response map.
  ///
  /// Platforms send getInfo often, and usually only the two encrypted members differ: they are replaced in the last
  /// encoding.
  public static func encoded(_ response: Response, on authenticator: inout Authenticator) -> [UInt8] {
    if let bytes = authenticator.lastInfo?.bytes(for: response) { return bytes }
    let encoding = Response.Encoding(of: response)
    authenticator.lastInfo = encoding
    return encoding.bytes
  }
}

extension Authenticator {
  /// How many more discoverable credentials can be registered; `nil` while the vault is locked.
  fileprivate func remainingDiscoverableCredentials() throws(CTAPError) -> Int? {
    try stored(keySource.current?.remainingDiscoverableCredentials())
  }
}
