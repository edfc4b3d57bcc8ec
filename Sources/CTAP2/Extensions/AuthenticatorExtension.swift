public import CBOR

/// An extension of makeCredential or getAssertion: CTAP §12.
///
/// One file, one line where the authenticator is composed.
public protocol AuthenticatorExtension: Sendable {
  /// The extension identifier.
  static var identifier: String { get }

  /// Reads and checks the input of a registration, before anybody is asked anything; `nil` has no part in it.
  static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request
  ) throws(CTAPError) -> (any ExtensionProcessing)?

  /// Reads and checks the input of a sign-in, before anybody is asked anything; `nil` has no part in it.
  static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request
  ) throws(CTAPError) -> (any ExtensionProcessing)?
}

extension AuthenticatorExtension {
  /// No part in registrations.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request
  ) throws(CTAPError) -> (any ExtensionProcessing)? { nil }

  /// No part in sign-ins.
  public static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request
  ) throws(CTAPError) -> (any ExtensionProcessing)? { nil }
}

/// What one extension does in one ceremony, made from an input that is in order.
public protocol ExtensionProcessing: Sendable {
  /// Adds to what the person is asked.
  func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError)

  /// Adds to what the new credential is.
  func shape(_ policy: inout CredentialPolicy)

  /// The output in the authenticator data of one credential; `nil` for none. Called after the person has agreed.
  func output(_ ceremony: ExtensionCeremony) throws(CTAPError) -> CBORValue?
}

extension ExtensionProcessing {
  /// Nothing to add.
  public func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError) {}
  /// Nothing to add.
  public func shape(_ policy: inout CredentialPolicy) {}
  /// No output.
  public func output(_ ceremony: ExtensionCeremony) throws(CTAPError) -> CBORValue? { nil }
}

/// What an extension may know when it makes its output.
public struct ExtensionCeremony: Sendable {
  /// The open vault.
  public let vault: OpenVault
  /// SHA-256 of rp.id.
  public let rpIDHash: RPIDHash
  /// The request's clientDataHash, 32 bytes.
  public let clientDataHash: [UInt8]
  /// The credential that is made or that signs.
  public let credentialID: [UInt8]
  /// UP as it happened.
  public let userPresent: Bool
  /// UV as it happened.
  public let userVerified: Bool
}

/// The extensions of one request that we have, in the order of getInfo.
struct RequestedExtensions: Sendable {
  private let requested: [(identifier: String, processing: any ExtensionProcessing)]

  /// Takes those inputs of a request that an extension of ours reads; others are passed over (CTAP §6.1.2, step 15).
  init(
    _ inputs: CBORMap, of extensions: [any AuthenticatorExtension.Type],
    read: (any AuthenticatorExtension.Type, CBORValue) throws(CTAPError) -> (any ExtensionProcessing)?
  ) throws(CTAPError) {
    var requested: [(identifier: String, processing: any ExtensionProcessing)] = []
    for type in extensions {
      guard let input = inputs[.text(type.identifier)], let processing = try read(type, input) else { continue }
      requested.append((type.identifier, processing))
    }
    self.requested = requested
  }

  /// Lets each add to what the person is asked.
  func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError) {
    for (_, processing) in requested { try processing.describe(in: &prompt, vault: vault) }
  }

  /// The policy that the request asks for.
  var policy: CredentialPolicy {
    requested.reduce(into: CredentialPolicy()) { $1.processing.shape(&$0) }
  }

  /// The outputs for the authenticator data: a subset of the inputs, empty when none has one.
  func outputs(_ ceremony: ExtensionCeremony) throws(CTAPError) -> CBORMap {
    var outputs = CBORMap()
    for (identifier, processing) in requested {
      outputs[.text(identifier)] = try processing.output(ceremony)
    }
    return outputs
  }
}
