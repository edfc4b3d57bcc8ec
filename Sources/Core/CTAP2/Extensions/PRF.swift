public import CBOR
import CryptoPrimitives
import Recovery

/// prf: the secrets of hmac-secret for a browser on another computer, whose inputs the transport encrypts.
///
/// The inputs are WebAuthn's salts, hashed already, and the outputs equal those of hmac-secret with verification
/// (Recovery §5), so that a site gets the same secret in both ways. The identifier is not in the registry of extensions;
/// Chromium and phones use it by hybrid transports.
public enum PRF: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "prf"

  /// The members of the unsigned outputs: CTAP §6.1.3 and §6.2.3.
  private enum UnsignedOutputs {
    static let makeCredential: CBORValue = 0x06
    static let getAssertion: CBORValue = 0x08
  }

  /// Takes `{"eval"?: {"first", "second"?}}`.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    Processing(member: UnsignedOutputs.makeCredential, salts: try PRFSalts(input), tellsEnabled: true)
  }

  /// Takes `{"eval"?: {"first", "second"?}, "evalByCredential"?: {id: {"first", "second"?}}}`, with user presence.
  public static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    guard request.asksForPresence else { throw CTAPError(.unsupportedOption, "prf without user presence") }
    return Processing(member: UnsignedOutputs.getAssertion, salts: try PRFSalts(input), tellsEnabled: false)
  }

  private struct Processing: ExtensionProcessing {
    /// The member of the unsigned outputs in the response.
    let member: CBORValue
    let salts: PRFSalts
    /// Whether the output says that the credential has the secrets, as every credential does.
    let tellsEnabled: Bool

    func describe(in prompt: inout UserPrompt, vault: OpenVault) {
      if !salts.isEmpty { prompt.extras.insert(.secret) }
    }

    /// `{"prf": {"enabled"?: true, "results"?: {"first", "second"?}}}`.
    ///
    /// The results leave locked memory here, because the answer contains them.
    func members(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) -> CBORMap {
      var output = CBORMap()
      if tellsEnabled { output["enabled"] = true }
      if let salts = salts.of(ceremony.credential.id) {
        let key = ceremony.vault.keys.credRandom(of: ceremony.credential, userVerified: consent.userVerified)
        let results: CBORMap = [
          "first": .bytes(HMACSHA256.authenticate(salts.first, key: key)),
          "second": salts.second.map { .bytes(HMACSHA256.authenticate($0, key: key)) },
        ]
        output["results"] = .map(results)
      }
      return output.isEmpty ? output : [member: .map([.text(PRF.identifier): .map(output)])]
    }
  }
}

/// The salts of one request: those of named credentials, and those of all others.
struct PRFSalts: Sendable {
  /// One or two salts, each of 32 bytes.
  struct Pair: Sendable {
    let first: [UInt8]
    let second: [UInt8]?

    /// - Throws: `cborUnexpectedType` and `missingParameter` for members, `invalidLength` for another size.
    fileprivate init(_ value: CBORValue) throws(CTAPError) {
      guard let map = value.map else { throw CTAPError(.cborUnexpectedType, "the salts of prf are not in a map") }
      do throws(CBORError) {
        (first, second) = (try map.requiredBytes("first"), try map.optionalBytes("second"))
      } catch {
        throw CTAPError(error)
      }
      guard [first, second ?? first].allSatisfy({ $0.count == HMACSHA256.size }) else {
        throw CTAPError(.invalidLength, "a salt of prf does not have 32 bytes")
      }
    }
  }

  private let all: Pair?
  private var byCredential: [[UInt8]: Pair] = [:]

  /// Whether no credential has salts.
  var isEmpty: Bool { all == nil && byCredential.isEmpty }

  /// Reads the input; other members are ignored.
  init(_ input: CBORValue) throws(CTAPError) {
    guard let map = input.map else { throw CTAPError(.cborUnexpectedType, "prf is not a map") }
    let credentials: CBORMap?
    do throws(CBORError) { credentials = try map.optionalMap("evalByCredential") } catch { throw CTAPError(error) }
    if let value = map["eval"] { all = try Pair(value) } else { all = nil }
    for pair in credentials?.pairs ?? [] {
      guard let id = pair.key.bytes else { throw CTAPError(.cborUnexpectedType, "an id in prf is not bytes") }
      byCredential[id] = try Pair(pair.value)
    }
  }

  /// The salts of a credential.
  func of(_ id: [UInt8]) -> Pair? { byCredential[id] ?? all }
}
