// The wallet's first requests to a Liquid Auth server, and the answers: the members that matter here. Others may be
// present, and are ignored.

/// The body of `POST /attestation/request`.
public struct AttestationRequest: Equatable, Sendable, Codable {
  /// The account's address, 58 characters.
  public var username: String
  /// A name for display.
  public var displayName: String
  /// The requirements on the authenticator.
  public var authenticatorSelection: AuthenticatorSelection
  /// The requested extensions.
  public var extensions: ClientExtensionInputs

  /// Requests to register a passkey of an account, with verification and the extension `liquid`.
  public init(username: String, displayName: String = "Liquid Auth User") {
    self.username = username
    self.displayName = displayName
    authenticatorSelection = AuthenticatorSelection()
    extensions = ClientExtensionInputs()
  }
}

/// The body of `POST /assertion/request/{credentialId}`.
public struct AssertionRequest: Equatable, Sendable, Codable {
  /// The requirement for user verification.
  public var userVerification = "required"
  /// The requested extensions.
  public var extensions = ClientExtensionInputs()

  /// Requests to sign in, with verification and the extension `liquid`.
  public init() {}
}

/// `authenticatorSelection`: WebAuthn §5.4.4.
public struct AuthenticatorSelection: Equatable, Sendable, Codable {
  /// The requirement for user verification.
  public var userVerification = "required"
}

/// `extensions` of a request: the inputs of client extensions, WebAuthn §5.7.1.
public struct ClientExtensionInputs: Equatable, Sendable, Codable {
  /// Servers refuse a registration without it.
  public var liquid = true
}

/// The answer to `POST /attestation/request`: WebAuthn §5.4, as JSON.
public struct AttestationOptions: Equatable, Sendable, Decodable {
  /// A relying party: WebAuthn §5.4.2.
  public struct RelyingParty: Equatable, Sendable, Decodable {
    /// rp.id, which a server must send here: it does not default to the requested host.
    public var id: String?
    /// A name for display.
    public var name: String?
  }

  /// A kind of key that the server accepts: WebAuthn §5.3.
  public struct Parameters: Equatable, Sendable, Decodable {
    /// `public-key`; other values are ignored.
    public var type: String
    /// A COSE algorithm identifier.
    public var alg: Int
  }

  /// The challenge as text.
  public var challenge: String
  /// The relying party.
  public var rp: RelyingParty?
  /// The accepted kinds of keys; if absent, ES256 is accepted (WebAuthn §5.1.3, step 10).
  public var pubKeyCredParams: [Parameters]?
  /// The account's passkeys that the server already knows.
  public var excludeCredentials: [CredentialDescriptor]?
}

/// The answer to `POST /assertion/request/{credentialId}`: WebAuthn §5.5, as JSON.
public struct AssertionOptions: Equatable, Sendable, Decodable {
  /// The challenge as text.
  public var challenge: String
  /// rp.id, as WebAuthn defines it.
  public var rpId: String?
  /// rp.id in the form of a registration, which some servers send.
  public var rp: AttestationOptions.RelyingParty?
  /// The passkeys that may sign in.
  public var allowCredentials: [CredentialDescriptor]?
}

/// One passkey in a list: WebAuthn §5.8.3.
public struct CredentialDescriptor: Equatable, Sendable, Decodable {
  /// `public-key`; other values are ignored.
  public var type: String
  /// The credential id.
  public var id: Base64URLBytes
}
