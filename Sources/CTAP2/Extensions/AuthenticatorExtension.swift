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
