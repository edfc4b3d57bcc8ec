// The wallet's answers: a credential as `PublicKeyCredential.toJSON()` writes it, with the additional members of Liquid
// Auth.

/// The body of `POST /attestation/response`.
public struct AttestationCredential: Equatable, Sendable, Codable {
  /// AuthenticatorAttestationResponse: WebAuthn §5.2.1.
  public struct Response: Equatable, Sendable, Codable {
    /// The client data, byte for byte as hashed.
    public var clientDataJSON: Base64URLBytes
    /// fmt, attStmt and authData in CBOR: WebAuthn §6.5.4.
    public var attestationObject: Base64URLBytes

    public init(clientDataJSON: Base64URLBytes, attestationObject: Base64URLBytes) {
      self.clientDataJSON = clientDataJSON
      self.attestationObject = attestationObject
    }
  }

  /// The credential id.
  public var id: Base64URLBytes
  /// The credential id again.
  public var rawId: Base64URLBytes
  /// `public-key`.
  public var type = "public-key"
  /// The outputs of the extensions.
  public var clientExtensionResults: ClientExtensionResults
  /// The authenticator's response.
  public var response: Response
  /// The name of the user's device.
  public var device: String

  /// Makes the credential of a registration.
  public init(id: [UInt8], response: Response, liquid: LiquidExtensionResult) {
    (self.id, rawId) = (Base64URLBytes(id), Base64URLBytes(id))
    self.response = response
    clientExtensionResults = ClientExtensionResults(liquid: liquid)
    device = liquid.device
  }
}

/// The body of `POST /assertion/response`.
public struct AssertionCredential: Equatable, Sendable, Codable {
  /// AuthenticatorAssertionResponse: WebAuthn §5.2.2.
  public struct Response: Equatable, Sendable, Codable {
    /// The client data, byte for byte as hashed.
    public var clientDataJSON: Base64URLBytes
    /// The authenticator data, as signed.
    public var authenticatorData: Base64URLBytes
    /// ECDSA over authenticator data ‖ SHA-256(client data), DER.
    public var signature: Base64URLBytes
    /// user.id of the passkey; absent if the authenticator does not return it.
    public var userHandle: Base64URLBytes?

    public init(
      clientDataJSON: Base64URLBytes, authenticatorData: Base64URLBytes, signature: Base64URLBytes,
      userHandle: Base64URLBytes?
    ) {
      self.clientDataJSON = clientDataJSON
      self.authenticatorData = authenticatorData
      self.signature = signature
      self.userHandle = userHandle
    }
  }

  /// The credential id.
  public var id: Base64URLBytes
  /// The credential id again.
  public var rawId: Base64URLBytes
  /// `public-key`.
  public var type = "public-key"
  /// The outputs of the extensions.
  public var clientExtensionResults: ClientExtensionResults
  /// The authenticator's response.
  public var response: Response

  /// Makes the credential of a sign-in.
  public init(id: [UInt8], response: Response, liquid: LiquidExtensionResult) {
    (self.id, rawId) = (Base64URLBytes(id), Base64URLBytes(id))
    self.response = response
    clientExtensionResults = ClientExtensionResults(liquid: liquid)
  }
}

/// `clientExtensionResults` of a credential.
public struct ClientExtensionResults: Equatable, Sendable, Codable {
  /// The result of the Algorand account.
  public var liquid: LiquidExtensionResult
}

/// The result of the extension `liquid`: Recovery §11.
public struct LiquidExtensionResult: Equatable, Sendable, Codable {
  /// `algorand`.
  public var type = "algorand"
  /// The id of the dApp's request.
  public var requestId: RequestID
  /// The account's address, 58 characters.
  public var address: String
  /// Ed25519 over the 32 bytes of the challenge.
  public var signature: Base64URLBytes
  /// The name of the user's device.
  public var device: String

  public init(requestId: RequestID, address: String, signature: Base64URLBytes, device: String) {
    self.requestId = requestId
    self.address = address
    self.signature = signature
    self.device = device
  }
}
