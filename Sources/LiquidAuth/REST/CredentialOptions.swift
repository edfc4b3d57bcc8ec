// What the wallet asks of a Liquid Auth server first, and what that answers: the members that mean something here.
// Others may be there, and are passed over.

/// The body of `POST /attestation/request`.
public struct AttestationRequest: Equatable, Sendable, Codable {
  /// The account's address, 58 characters.
  public var username: String
  /// A name for people.
  public var displayName: String
  /// What kind of authenticator is meant.
  public var authenticatorSelection: AuthenticatorSelection
  /// The extensions that are meant.
  public var extensions: RequestedExtensions

  /// Asks to register a passkey of an account, with verification and the extension `liquid`.
  public init(username: String, displayName: String = "Liquid Auth User") {
    self.username = username
    self.displayName = displayName
    authenticatorSelection = AuthenticatorSelection()
    extensions = RequestedExtensions()
  }
}

/// The body of `POST /assertion/request/{credentialId}`.
public struct AssertionRequest: Equatable, Sendable, Codable {
  /// Whether the person is to be verified.
  public var userVerification = "required"
  /// The extensions that are meant.
  public var extensions = RequestedExtensions()

  /// Asks to sign in, with verification and the extension `liquid`.
  public init() {}
}

/// `authenticatorSelection`: WebAuthn §5.4.4.
public struct AuthenticatorSelection: Equatable, Sendable, Codable {
  /// Whether the person is to be verified.
  public var userVerification = "required"
}

/// `extensions` of a request.
public struct RequestedExtensions: Equatable, Sendable, Codable {
  /// Servers refuse a registration without it.
  public var liquid = true
}

/// The answer to `POST /attestation/request`: WebAuthn §5.4, as JSON.
public struct AttestationOptions: Equatable, Sendable, Decodable {
  /// A relying party: WebAuthn §5.4.2.
  public struct RelyingParty: Equatable, Sendable, Decodable {
    /// rp.id, which a server must say here: the host that we asked is no answer.
    public var id: String?
    /// A name for people.
    public var name: String?
  }

  /// A kind of key that the server takes: WebAuthn §5.3.
  public struct Parameters: Equatable, Sendable, Decodable {
    /// `public-key`, or something that is passed over.
    public var type: String
    /// A COSE algorithm identifier.
    public var alg: Int
  }

  /// The challenge, as text.
  public var challenge: String
  /// The relying party.
  public var rp: RelyingParty?
  /// The kinds of keys that are taken; where nothing is said, ES256 is (WebAuthn §5.1.3, step 10).
  public var pubKeyCredParams: [Parameters]?
  /// The account's passkeys that are known already.
  public var excludeCredentials: [CredentialDescriptor]?
}

/// The answer to `POST /assertion/request/{credentialId}`: WebAuthn §5.5, as JSON.
public struct AssertionOptions: Equatable, Sendable, Decodable {
  /// The challenge, as text.
  public var challenge: String
  /// rp.id, as WebAuthn has it.
  public var rpId: String?
  /// rp.id, as it stands in a registration: some servers repeat that.
  public var rp: AttestationOptions.RelyingParty?
  /// The passkeys that may sign in.
  public var allowCredentials: [CredentialDescriptor]?
}

/// One passkey in a list: WebAuthn §5.8.3.
public struct CredentialDescriptor: Equatable, Sendable, Decodable {
  /// `public-key`, or something that is passed over.
  public var type: String
  /// The credential id.
  public var id: Base64URLBytes
}
