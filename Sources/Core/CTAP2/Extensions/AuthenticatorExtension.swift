public import CBOR
public import Recovery

/// An extension of makeCredential or getAssertion: CTAP §12.
///
/// Each extension has one file, and one line where the authenticator is composed.
public protocol AuthenticatorExtension: Sendable {
  /// The extension identifier.
  static var identifier: String { get }

  /// Reads and checks the input of a registration, before any prompt; returns `nil` to take no part.
  ///
  /// - Parameter pinUVAuth: computes the secret shared with the platform, for an encrypted input.
  static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)?

  /// Reads and checks the input of a sign-in, before any prompt; returns `nil` to take no part.
  ///
  /// - Parameter pinUVAuth: computes the secret shared with the platform, for an encrypted input.
  static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)?
}

extension AuthenticatorExtension {
  /// By default, takes no part in registrations.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? { nil }

  /// By default, takes no part in sign-ins.
  public static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? { nil }

  /// Reads the input of an extension that takes only `true`.
  ///
  /// - Throws: `invalidOption` for `false`, `cborUnexpectedType` for another type.
  static func requireTrue(_ input: CBORValue) throws(CTAPError) {
    guard let isAskedFor = input.bool else { throw CTAPError(.cborUnexpectedType, "\(identifier) is not a boolean") }
    guard isAskedFor else { throw CTAPError(.invalidOption, "\(identifier) is false") }
  }
}

/// What one extension does in one ceremony, made from a valid input.
public protocol ExtensionProcessing: Sendable {
  /// Whether the ceremony's own dialog must verify the user, even if a token already did.
  var needsVerificationInDialog: Bool { get }

  /// Adds to the prompt.
  func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError)

  /// Adds to the new credential.
  func shape(_ registration: inout CredentialRegistration)

  /// The output in the authenticator data of one credential; `nil` for none.
  ///
  /// - Parameter consent: UP and UV of the ceremony.
  func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORValue?

  /// The output beside the authenticator data: members of the response by their numbers, which are not signed.
  ///
  /// - Parameter consent: UP and UV of the ceremony.
  func members(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORMap
}

extension ExtensionProcessing {
  /// By default, the dialog need not verify.
  public var needsVerificationInDialog: Bool { false }
  /// By default, adds nothing.
  public func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError) {}
  /// By default, adds nothing.
  public func shape(_ registration: inout CredentialRegistration) {}
  /// By default, there is no output.
  public func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORValue? {
    nil
  }
  /// By default, there are no members.
  public func members(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORMap {
    CBORMap()
  }
}

/// The context in which an extension computes its output.
public struct ExtensionCeremony: Sendable {
  /// The open vault.
  public let present: OpenVault
  /// The vault of the credential's phrase, which can be the previous one (Recovery §14).
  public let vault: OpenVault
  /// The new credential, or the one that signs.
  public let credential: Credential
}
