import CBOR
import Recovery

extension MakeCredential.Request {
  /// The extensions that the request asks for and the authenticator has.
  func extensions(
    of types: [any AuthenticatorExtension.Type], with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> RequestedExtensions {
    try RequestedExtensions(extensionInputs, of: types) { type, input throws(CTAPError) in
      try type.makeCredential(input, self, with: &pinUVAuth)
    }
  }
}

extension GetAssertion.Request {
  /// The extensions that the request asks for and the authenticator has.
  func extensions(
    of types: [any AuthenticatorExtension.Type], with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> RequestedExtensions {
    try RequestedExtensions(extensionInputs, of: types) { type, input throws(CTAPError) in
      try type.getAssertion(input, self, with: &pinUVAuth)
    }
  }
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
  func refuseWithoutVerification(canVerify: Bool) throws(CTAPError) {
    guard !canVerify else { return }
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
