import CBOR

/// The rules for requests of a browser on another computer, by hybrid transports: CTAP §11.5.
///
/// The person agreed to one request, of a computer that is not this one. So it always needs verification by the
/// authenticator itself, and no program can use it to manage passkeys, or to look for them without a prompt.
enum HybridRequest {
  /// How many arrays and maps may be open at once: `evalByCredential` of prf needs one more than CTAP §8 allows.
  static let maximumDepth = CBORDecoder.messageDepth + 1

  /// Whether a command is served; any other is invalid.
  ///
  /// A getNextAssertion never has a sign-in to continue.
  static func isServed(_ code: UInt8) -> Bool {
    [MakeCredential.code, GetAssertion.code, GetInfo.code, GetNextAssertion.code].contains(code)
  }

  /// Sets the option `uv` of a registration or a sign-in.
  ///
  /// Members of a wrong type stay: the command refuses them.
  ///
  /// - Throws: `unsupportedOption` for a request without presence; `invalidParameter` for a pinUvAuthParam, because
  ///   getInfo lists no protocol for it (CTAP §6.1.2, step 2).
  static func requireVerification(_ parameters: inout CBORMap, of code: UInt8) throws(CTAPError) {
    let (options, param): (CBORValue, CBORValue)
    switch code {
    case MakeCredential.code: (options, param) = (0x07, 0x08)
    case GetAssertion.code: (options, param) = (0x05, 0x06)
    default: return
    }
    guard parameters[param] == nil else {
      throw CTAPError(.invalidParameter, "a pinUvAuthParam from another computer")
    }
    guard var map = parameters[options] == nil ? CBORMap() : parameters[options]?.map else { return }
    guard map["up"] != false else {
      throw CTAPError(.unsupportedOption, "a request without user presence from another computer")
    }
    if let uv = map["uv"], uv.bool == nil { return }
    map["uv"] = true
    parameters[options] = .map(map)
  }
}

extension Authenticator {
  /// The extensions of a request.
  func extensions(in context: RequestContext) -> [any AuthenticatorExtension.Type] {
    context.isHybrid ? hybridExtensions : extensions
  }
}
