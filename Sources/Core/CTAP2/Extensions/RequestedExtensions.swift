import CBOR
import Recovery

extension MakeCredential.Request {
  /// The extensions that the request names and the authenticator supports.
  func extensions(
    of types: [any AuthenticatorExtension.Type], with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> RequestedExtensions {
    try RequestedExtensions(extensionInputs, of: types) { type, input throws(CTAPError) in
      try type.makeCredential(input, self, with: &pinUVAuth)
    }
  }
}

extension GetAssertion.Request {
  /// The extensions that the request names and the authenticator supports.
  func extensions(
    of types: [any AuthenticatorExtension.Type], with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> RequestedExtensions {
    try RequestedExtensions(extensionInputs, of: types) { type, input throws(CTAPError) in
      try type.getAssertion(input, self, with: &pinUVAuth)
    }
  }
}

/// The supported extensions of one request, in the order of getInfo.
struct RequestedExtensions: Sendable {
  private let requested: [(identifier: String, processing: any ExtensionProcessing)]

  /// Reads the inputs of supported extensions; others are ignored (CTAP §6.1.2, step 15).
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

  /// Refuses extensions that need verification in the ceremony's own dialog, if that is not set up.
  ///
  /// - Throws: `invalidOption`, as for `uv` where verification is not set up.
  func refuseWithoutVerification(canVerify: Bool) throws(CTAPError) {
    guard !canVerify else { return }
    for (identifier, processing) in requested where processing.needsVerificationInDialog {
      throw CTAPError(
        .invalidOption,
        "\(identifier) needs verification in its own dialog; a PIN is not enough: start the authenticator with "
          + "--verification passphrase")
    }
  }

  /// Lets each extension add to the prompt.
  func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError) {
    for (_, processing) in requested { try processing.describe(in: &prompt, vault: vault) }
  }

  /// Lets each extension add to the new credential.
  func shape(_ registration: inout CredentialRegistration) {
    for (_, processing) in requested { processing.shape(&registration) }
  }

  /// The outputs of all of them for one credential.
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

/// The outputs of all extensions of one request for one credential.
struct ExtensionOutputs: Sendable {
  /// Inside the authenticator data, by identifier: a subset of the inputs, empty when none has one.
  var authenticatorData = CBORMap()
  /// Beside the authenticator data, by number.
  var members = CBORMap()
}
