import CBOR
import Recovery

/// Registrations that belong to no site, with which platforms let the user select one of several keys.
///
/// The platform discards the new credential. So the prompt asks only: "is it this key?"
enum SelectionByRegistration {
  /// The rp.id of libfido2, and that of Chromium and Firefox.
  ///
  /// No site can have one of them: an rp.id is a domain, and there is no `.blink`.
  private static let rpIDs = [".dummy", "make.me.blink"]
  /// The application parameters that U2F sends for those, and Chromium's, 32 bytes of 0x41.
  private static let applications = Set(rpIDs.map(RPIDHash.init(rpID:)))
    .union([RPIDHash(bytes: [UInt8](repeating: 0x41, count: 32))].compactMap(\.self))

  /// Whether a request is such a registration: it requests nothing that is stored or has value.
  static func isMeant(by request: MakeCredential.Request) -> Bool {
    rpIDs.contains(request.rp.id) && request.options.rk != true && request.options.uv != true
      && request.extensionInputs.isEmpty
  }

  /// Whether a U2F registration is one.
  static func isMeant(by application: RPIDHash) -> Bool { applications.contains(application) }
}
