import CFido2
import CTAP2
import CryptoPrimitives
import Glibc
import ProcessIO
import ProtectorProtocol

/// A FIDO2 security key that is plugged in, through libfido2.
///
/// CTAPHID_CANCEL ends a request that waits for a touch when the time is over, or when the program that asked for the
/// key of the slot has ended.
final class SecurityKey {
  /// The rp.id, which no website can have, because a domain has no colon.
  private static let relyingParty = "liquid-auth:vault"
  /// The variable with the paths of devices, separated by commas, in place of those that udev lists.
  private static let variable = "LIQUID_AUTH_FIDO2"
  private static let mostKeys = 64
  /// How long a request without a touch may take.
  private static let shortLimit = Duration.seconds(3)
  /// How long a security key waits for a touch.
  private static let touchLimit = Duration.seconds(30)

  private var device: OpaquePointer?
  private let info: OpaquePointer?

  /// All security keys with hmac-secret, except devices of this product: our own device may be waiting for this program.
  ///
  /// A security key that does not answer is left out, for example while another program uses it.
  static func all() -> [SecurityKey] {
    // With this variable, libfido2 logs what it sends and receives.
    unsetenv("FIDO_DEBUG")
    fido_init(FIDO_DISABLE_U2F_FALLBACK)
    return paths().compactMap { SecurityKey(path: $0) }
  }

  private static func paths() -> [String] {
    if let paths = environmentVariable(variable) { return paths.split(separator: ",").map { String($0) } }
    var (list, count) = (fido_dev_info_new(mostKeys), 0)
    defer { fido_dev_info_free(&list, mostKeys) }
    guard fido_dev_info_manifest(list, mostKeys, &count) == FIDO_OK else { return [] }
    return (0..<count).compactMap { fido_dev_info_path(fido_dev_info_ptr(list, $0)).map { String(cString: $0) } }
  }

  private init?(path: String) {
    (device, info) = (fido_dev_new(), fido_cbor_info_new())
    Self.limit(device, Self.shortLimit)
    guard fido_dev_open(device, path) == FIDO_OK, fido_dev_is_fido2(device),
      fido_dev_get_cbor_info(device, info) == FIDO_OK, extensions.contains("hmac-secret"),
      model != AAGUID.liquidAuth.bytes
    else { return nil }
  }

  deinit {
    var info = info
    fido_cbor_info_free(&info)
    fido_dev_close(device)
    fido_dev_free(&device)
  }

  // MARK: authenticatorGetInfo

  private var model: [UInt8] {
    Array(UnsafeBufferPointer(start: fido_cbor_info_aaguid_ptr(info), count: fido_cbor_info_aaguid_len(info)))
  }

  private var extensions: [String] {
    let names = UnsafeBufferPointer(
      start: fido_cbor_info_extensions_ptr(info), count: fido_cbor_info_extensions_len(info))
    return names.compactMap { $0.map { String(cString: $0) } }
  }

  /// The value of an option; `nil` if the key does not have it (CTAP §6.4).
  func option(_ name: String) -> Bool? {
    let count = fido_cbor_info_options_len(info)
    let names = UnsafeBufferPointer(start: fido_cbor_info_options_name_ptr(info), count: count)
    let index = names.firstIndex { $0.map { String(cString: $0) } == name }
    return index.map { fido_cbor_info_options_value_ptr(info)[$0] }
  }

  /// How many tries of the PIN are left.
  func pinTries() throws(ProtectorFailure) -> Int {
    var count: Int32 = 0
    Self.limit(device, Self.shortLimit)
    try check(fido_dev_get_retry_count(device, &count))
    return Int(count)
  }

  // MARK: Credentials

  /// Makes a credential with hmac-secret, which the security key does not store; needs a touch.
  ///
  /// It is made without credProtect (level 1). So CTAP §12.1 allows the assertion without verification, which
  /// ``proof(of:_:)`` needs. Level 2 allows it, too, because the allow list has the id.
  ///
  /// - Parameter pin: the PIN with a zero byte at its end.
  /// - Returns: the id and the public key of the credential.
  func makeCredential(pin: SecretBytes?) throws(ProtectorFailure) -> (id: [UInt8], P256.PublicKey) {
    var credential = fido_cred_new()
    defer { fido_cred_free(&credential) }
    let (challenge, user) = (Self.random(), Self.random())
    try check(fido_cred_set_type(credential, COSE_ES256))
    try check(fido_cred_set_clientdata_hash(credential, challenge, challenge.count))
    try check(fido_cred_set_rp(credential, Self.relyingParty, "Liquid Auth"))
    try check(fido_cred_set_user(credential, user, user.count, "Liquid Auth vault", nil, nil))
    try check(fido_cred_set_extensions(credential, FIDO_EXT_HMAC_SECRET))
    try touch(pin: pin) { fido_dev_make_cred(device, credential, $0) }
    let id = Self.bytes(fido_cred_id_ptr(credential), fido_cred_id_len(credential))
    let point = Self.bytes(fido_cred_pubkey_ptr(credential), fido_cred_pubkey_len(credential))
    guard !id.isEmpty,
      let key = try? P256.PublicKey(
        x: Array(point.prefix(P256.fieldSize)), y: Array(point.dropFirst(P256.fieldSize)))
    else { throw .noAnswer }
    return (id, key)
  }

  /// A signature over a fresh challenge, in DER, and the message that it signs.
  struct Signature {
    let signature: [UInt8]
    let message: [UInt8]
  }

  /// What an assertion without a touch and without a PIN says about a credential.
  enum Proof {
    /// The security key has the credential; without a public key, it only claims so.
    case valid(Signature?)
    /// The security key claims the credential, but its signature is not valid.
    case invalid
  }

  /// Asks for an assertion that needs no touch, and verifies its signature over a fresh challenge.
  ///
  /// - Parameters:
  ///   - id: the id of the credential.
  ///   - publicKey: its public key; `nil` if it is not known.
  /// - Returns: `nil` if the security key does not have the credential.
  func proof(of id: [UInt8], _ publicKey: P256.PublicKey?) -> Proof? {
    guard let assertion = try? assertion(for: id) else { return nil }
    defer { Self.free(assertion) }
    guard let result = try? assert(assertion, pin: nil), result == FIDO_OK else { return nil }
    let signature = Self.signature(in: assertion)
    guard let publicKey else { return .valid(signature) }
    guard let signature, signature.message.starts(with: SHA256.hash(Array(Self.relyingParty.utf8))),
      publicKey.isValidSignature(signature.signature, for: signature.message)
    else { return .invalid }
    return .valid(signature)
  }

  private static func signature(in assertion: OpaquePointer) -> Signature? {
    let signature = bytes(fido_assert_sig_ptr(assertion, 0), fido_assert_sig_len(assertion, 0))
    let hash = bytes(fido_assert_clientdata_hash_ptr(assertion), fido_assert_clientdata_hash_len(assertion))
    // The authenticator data, as a byte string of CBOR of 24 bytes or more.
    let data = bytes(fido_assert_authdata_ptr(assertion, 0), fido_assert_authdata_len(assertion, 0))
    let head = [0x58: 2, 0x59: 3][data.first ?? 0]
    guard let head, !signature.isEmpty else { return nil }
    return Signature(signature: signature, message: data.dropFirst(head) + hash)
  }

  private static func bytes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count))
  }

  /// Throws if the PIN is wrong or blocked; needs no touch.
  ///
  /// A security key that refuses an assertion with a PIN and without a touch checks the PIN later.
  ///
  /// - Parameters:
  ///   - pin: the PIN with a zero byte at its end.
  ///   - id: the id of a credential of this security key.
  func check(pin: SecretBytes, with id: [UInt8]) throws(ProtectorFailure) {
    let assertion = try assertion(for: id)
    defer { Self.free(assertion) }
    let result = try assert(assertion, pin: pin)
    guard [FIDO_ERR_PIN_INVALID, FIDO_ERR_PIN_AUTH_BLOCKED, FIDO_ERR_PIN_BLOCKED].contains(result) else { return }
    try checkPIN(result)
  }

  /// Sends an assertion that needs no touch, and returns libfido2's result.
  private func assert(_ assertion: OpaquePointer, pin: SecretBytes?) throws(ProtectorFailure) -> Int32 {
    try check(fido_assert_set_up(assertion, FIDO_OPT_FALSE))
    Self.limit(device, Self.shortLimit)
    return Self.with(pin) { fido_dev_get_assert(device, assertion, $0) }
  }

  private static func with(_ pin: SecretBytes?, _ request: (UnsafePointer<CChar>?) -> Int32) -> Int32 {
    guard let pin else { return request(nil) }
    return pin.withUnsafeBytes { request($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
  }

  /// The output of hmac-secret; needs a touch.
  ///
  /// - Parameters:
  ///   - id: the id of the credential.
  ///   - salt: 32 bytes.
  ///   - count: the size of the output, 32 bytes; an output of another size is an error.
  ///   - pin: the PIN with a zero byte at its end.
  /// - Returns: the output, and the signature of the assertion.
  func secret(
    of id: [UInt8], salt: [UInt8], count: Int, pin: SecretBytes?
  ) throws(ProtectorFailure) -> (SecretBytes, Signature?) {
    let assertion = try assertion(for: id)
    defer { Self.free(assertion) }
    try check(fido_assert_set_extensions(assertion, FIDO_EXT_HMAC_SECRET))
    try check(fido_assert_set_hmac_salt(assertion, salt, salt.count))
    try touch(pin: pin) { fido_dev_get_assert(device, assertion, $0) }
    guard let output = fido_assert_hmac_secret_ptr(assertion, 0),
      fido_assert_hmac_secret_len(assertion, 0) == count
    else { throw .noAnswer }
    return (
      SecretBytes(copying: UnsafeRawBufferPointer(start: output, count: count)), Self.signature(in: assertion)
    )
  }

  private func assertion(for id: [UInt8]) throws(ProtectorFailure) -> OpaquePointer {
    guard let assertion = fido_assert_new() else { throw .noAnswer }
    let challenge = Self.random()
    do throws(ProtectorFailure) {
      try check(fido_assert_set_clientdata_hash(assertion, challenge, challenge.count))
      try check(fido_assert_set_rp(assertion, Self.relyingParty))
      try check(fido_assert_allow_cred(assertion, id, id.count))
    } catch {
      Self.free(assertion)
      throw error
    }
    return assertion
  }

  private static func free(_ assertion: OpaquePointer) {
    var assertion: OpaquePointer? = assertion
    fido_assert_free(&assertion)
  }

  private static func random() -> [UInt8] { (0..<32).map { _ in .random(in: 0...255) } }

  // MARK: Touches

  private static func limit(_ device: OpaquePointer?, _ limit: Duration) {
    fido_dev_set_timeout(device, Int32(limit.components.seconds * 1000))
  }

  /// Sends a request that waits for a touch, and cancels it when the time is over or standard input is closed.
  private func touch(
    pin: SecretBytes?, _ request: (UnsafePointer<CChar>?) -> Int32
  ) throws(ProtectorFailure) {
    StandardStream.error.write("liquid-auth-protector: touch the security key that blinks")
    ProtectorPipe.touchNeeded(to: STDOUT_FILENO)
    // After the CANCEL, the security key has a short time to answer.
    Self.limit(device, Self.touchLimit + Self.shortLimit)
    let wait = TouchWait(on: device, until: .now + Self.touchLimit)
    guard wait.start() else {
      throw ProtectorFailure(.failed, "the system has no thread left", hint: "end other programs")
    }
    let result = Self.with(pin, request)
    let outcome = wait.end()
    if result != FIDO_OK, let outcome { throw outcome }
    try checkPIN(result)
  }

  // MARK: Errors

  /// As `check`; after a wrong PIN, the error says how many tries are left.
  private func checkPIN(_ result: Int32) throws(ProtectorFailure) {
    guard result == FIDO_ERR_PIN_INVALID else { return try check(result) }
    throw .wrongPIN(triesLeft: try pinTries())
  }

  private func check(_ result: Int32) throws(ProtectorFailure) {
    guard result != FIDO_OK else { return }
    throw switch result {
    case FIDO_ERR_ACTION_TIMEOUT, FIDO_ERR_USER_ACTION_TIMEOUT: .notTouched
    case FIDO_ERR_OPERATION_DENIED, FIDO_ERR_KEEPALIVE_CANCEL:
      ProtectorFailure(.dismissed, "the security key refused", hint: "try again, and touch it")
    case FIDO_ERR_PIN_AUTH_BLOCKED:
      ProtectorFailure(
        .failed, "the security key refuses its PIN after three wrong PINs in a row",
        hint: "unplug it, and plug it in again")
    case FIDO_ERR_PIN_BLOCKED, FIDO_ERR_UV_BLOCKED: .pinBlocked
    case FIDO_ERR_PIN_NOT_SET: .noPIN
    case FIDO_ERR_PIN_REQUIRED: .alwaysVerifies
    case FIDO_ERR_NO_CREDENTIALS, FIDO_ERR_INVALID_CREDENTIAL: .otherKey
    case FIDO_ERR_TX, FIDO_ERR_RX, FIDO_ERR_CHANNEL_BUSY: .noAnswer
    default: ProtectorFailure(.failed, "the security key refused the request (\(result))", hint: "try again")
    }
  }
}

/// Cancels the request to a security key at a deadline, or when standard input is closed, on a thread of its own.
private final class TouchWait: Sendable {
  private nonisolated(unsafe) let device: OpaquePointer?
  private let deadline: ContinuousClock.Instant
  private let ended = Cancellation()
  private let left = Cancellation()
  private nonisolated(unsafe) var outcome: ProtectorFailure?

  init(on device: OpaquePointer?, until deadline: ContinuousClock.Instant) {
    (self.device, self.deadline) = (device, deadline)
  }

  /// - Returns: whether a thread was started.
  func start() -> Bool {
    var thread = pthread_t()
    let wait = Unmanaged.passRetained(self)
    let result = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<TouchWait>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, wait.toOpaque())
    guard result == 0 else {
      wait.release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  private func run() {
    switch ended.wait(for: STDIN_FILENO, POLLIN, until: deadline) {
    case .cancelled: break
    case .ready: withdraw(because: ProtectorFailure(.failed, "it was cancelled"))
    case .timedOut: withdraw(because: .notTouched)
    }
    left.cancel()
  }

  private func withdraw(because reason: ProtectorFailure) {
    outcome = reason
    // Repeated, because a CANCEL that comes before the request has no effect.
    repeat {
      fido_dev_cancel(device)
    } while ended.wait(for: left.descriptor, POLLIN, until: .now + .milliseconds(200)) == .timedOut
  }

  /// Ends the thread after the request, and waits for its end.
  ///
  /// - Returns: why the request was cancelled; `nil` if it was not.
  func end() -> ProtectorFailure? {
    ended.cancel()
    // Until it has ended, the thread uses the device.
    _ = Cancellation().wait(for: left.descriptor, POLLIN, until: nil)
    return outcome
  }
}
