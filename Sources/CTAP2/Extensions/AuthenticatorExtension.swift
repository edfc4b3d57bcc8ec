public import CBOR
public import Recovery

/// An extension of makeCredential or getAssertion: CTAP §12.
///
/// One file, one line where the authenticator is composed.
public protocol AuthenticatorExtension: Sendable {
  /// The extension identifier.
  static var identifier: String { get }

  /// Reads and checks the input of a registration, before anybody is asked anything; `nil` has no part in it.
  ///
  /// - Parameter pinUVAuth: agrees on a secret with the platform, for an input that is encrypted.
  static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)?

  /// Reads and checks the input of a sign-in, before anybody is asked anything; `nil` has no part in it.
  ///
  /// - Parameter pinUVAuth: agrees on a secret with the platform, for an input that is encrypted.
  static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)?
}

extension AuthenticatorExtension {
  /// No part in registrations.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? { nil }

  /// No part in sign-ins.
  public static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? { nil }

  /// Reads the input of an extension that is either asked for, by `true`, or left out.
  ///
  /// - Throws: `invalidOption` for `false`, `cborUnexpectedType` for what is no boolean.
  static func requireTrue(_ input: CBORValue) throws(CTAPError) {
    guard let isAskedFor = input.bool else { throw CTAPError(.cborUnexpectedType, "\(identifier) is not a boolean") }
    guard isAskedFor else { throw CTAPError(.invalidOption, "\(identifier) is false") }
  }
}

/// What one extension does in one ceremony, made from an input that is in order.
public protocol ExtensionProcessing: Sendable {
  /// Whether the ceremony's own dialog must verify the person, whatever a token says: only built-in means can.
  var needsVerificationInDialog: Bool { get }

  /// Adds to what the person is asked.
  func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError)

  /// Adds to what the new credential is.
  func shape(_ registration: inout CredentialRegistration)

  /// The output in the authenticator data of one credential; `nil` for none.
  ///
  /// - Parameter consent: UP and UV as they happened.
  func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORValue?

  /// The output beside the authenticator data: members of the response by their numbers, which nobody signs.
  ///
  /// - Parameter consent: UP and UV as they happened.
  func members(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORMap
}

extension ExtensionProcessing {
  /// It does not.
  public var needsVerificationInDialog: Bool { false }
  /// Nothing to add.
  public func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError) {}
  /// Nothing to add.
  public func shape(_ registration: inout CredentialRegistration) {}
  /// No output.
  public func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORValue? {
    nil
  }
  /// No members.
  public func members(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORMap {
    CBORMap()
  }
}

/// What an extension may know when it makes its output.
public struct ExtensionCeremony: Sendable {
  /// The open vault.
  public let vault: OpenVault
  /// The credential that is made or that signs.
  public let credential: Credential
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

  /// Refuses what the ceremony's own dialog would have to verify for, where it cannot.
  ///
  /// - Throws: `invalidOption`, as for `uv` where verification is not set up.
  func refuseWithoutVerification(in authenticator: Authenticator) throws(CTAPError) {
    guard !authenticator.interaction.canVerify else { return }
    for (identifier, processing) in requested where processing.needsVerificationInDialog {
      throw CTAPError(
        .invalidOption,
        "\(identifier) needs verification in its own dialog; a PIN is not enough: start the authenticator with "
          + "--verification passphrase")
    }
  }

  /// Lets each add to what the person is asked.
  func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError) {
    for (_, processing) in requested { try processing.describe(in: &prompt, vault: vault) }
  }

  /// Lets each add to what the new credential is.
  func shape(_ registration: inout CredentialRegistration) {
    for (_, processing) in requested { processing.shape(&registration) }
  }

  /// What all of them put out for one credential.
  func outputs(
    _ ceremony: ExtensionCeremony, consent: borrowing UserConsent
  ) throws(CTAPError) -> ExtensionOutputs {
    var outputs = ExtensionOutputs()
    for (identifier, processing) in requested {
      outputs.authenticatorData[.text(identifier)] = try processing.output(ceremony, consent: consent)
      outputs.members.add(try processing.members(ceremony, consent: consent))
    }
    return outputs
  }
}

/// What the extensions of one request put out for one credential.
struct ExtensionOutputs: Sendable {
  /// Inside the authenticator data, by identifier: a subset of the inputs, empty when none has one.
  var authenticatorData = CBORMap()
  /// Beside the authenticator data, by number.
  var members = CBORMap()
}

extension CBORMap {
  /// Adds the members of another map.
  mutating func add(_ other: CBORMap) {
    for pair in other.pairs { self[pair.key] = pair.value }
  }
}
