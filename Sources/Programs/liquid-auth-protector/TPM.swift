import CTSS
import CryptoPrimitives
import Glibc
import ProcessIO
import ProtectorProtocol

/// A TPM 2.0, through the ESAPI of tpm2-tss, and the storage key under which it seals keys.
///
/// Each connection makes the storage key from its template, which gives the same key until the TPM is cleared. Sessions are
/// salted with the storage key and encrypt secret parameters, so neither key nor PIN can be read on the TPM's bus.
final class TPM {
  /// The environment variable for another TCTI than `device:/dev/tpmrm0`, as in tss2-tctildr(7).
  private static let variable = "LIQUID_AUTH_TCTI"

  private var tcti: OpaquePointer?
  private var context: OpaquePointer?
  private var storageKey = LIQUID_TR_NONE
  /// The name of the storage key: the number of the hash algorithm, and the hash of its public area, 34 bytes.
  private(set) var name: [UInt8] = []

  static let nameSize = 34

  /// Connects to the TPM.
  ///
  /// - Parameter makesStorageKey: whether to make the storage key, too, which needs the owner hierarchy. Without it,
  ///   sessions are not salted: auth values must be random, and no parameter may be secret.
  init(makesStorageKey: Bool = true) throws(ProtectorFailure) {
    // With these environment variables, the library would log commands and their secrets.
    unsetenv("TSS2_LOGFILE")
    setenv("TSS2_LOG", "all+NONE", 1)
    // Overwrites the library's copies of secrets when they are freed.
    mallopt(M_PERTURB, 0xA5)
    let tcti = environmentVariable(Self.variable) ?? "device:/dev/tpmrm0"
    if tcti.hasPrefix("device:") { try Self.checkAccess(to: String(tcti.dropFirst("device:".count))) }
    guard Tss2_TctiLdr_Initialize(tcti, &self.tcti) == 0 else {
      throw ProtectorFailure(
        .noService, "cannot connect to the TPM (\(tcti))", hint: "try again, or restart the machine")
    }
    try Self.check(Esys_Initialize(&context, self.tcti, nil))
    if makesStorageKey { try makeStorageKey() }
  }

  deinit {
    flush(storageKey)
    Esys_Finalize(&context)
    Tss2_TctiLdr_Finalize(&tcti)
  }

  private static func checkAccess(to path: String) throws(ProtectorFailure) {
    guard access(path, R_OK | W_OK) != 0 else { return }
    switch errno {
    case EACCES, EPERM:
      throw ProtectorFailure(
        .noService,
        "you have no access to the TPM (\(path))",
        hint: "run: sudo usermod --append --groups tss \"$USER\"; then log in again")
    default:
      throw ProtectorFailure(
        .noService, "no TPM 2.0 was found (\(path))",
        hint: "if this machine has one, turn it on in the firmware settings")
    }
  }

  private func makeStorageKey() throws(ProtectorFailure) {
    var (sensitive, template) = (TPM2B_SENSITIVE_CREATE(), liquid_tpm_storage_key())
    var (outside, pcrs) = (TPM2B_DATA(), TPML_PCR_SELECTION())
    var made: UnsafeMutablePointer<TPM2B_NAME>?
    do throws(ProtectorFailure) {
      // The auth value of the owner hierarchy is empty, unless a password was set.
      try Self.check(
        Esys_CreatePrimary(
          context, LIQUID_TR_OWNER, LIQUID_TR_PASSWORD, LIQUID_TR_NONE, LIQUID_TR_NONE, &sensitive, &template, &outside,
          &pcrs, &storageKey, nil, nil, nil, nil))
    } catch {
      throw error.ofOwner
    }
    try Self.check(Esys_TR_GetName(context, storageKey, &made))
    defer { Esys_Free(made) }
    if let made { name = withUnsafeBytes(of: &made.pointee.name) { Array($0.prefix(Int(made.pointee.size))) } }
  }

  /// A TPM2B_AUTH of 32 bytes, without zero bytes at the end, which a TPM ignores.
  static func authValue(_ bytes: SecretBytes) -> SecretBytes {
    SecretBytes(count: MemoryLayout<TPM2B_AUTH>.size) { memory in
      let value = memory.bindMemory(to: TPM2B_AUTH.self).baseAddress
      bytes.withUnsafeBytes { liquid_tpm_fill_auth_value(value, $0.baseAddress) }
    }
  }

  // MARK: Keys

  /// Seals a key.
  ///
  /// - Parameter pin: the auth value, a TPM2B_AUTH; `nil` without a PIN.
  /// - Returns: TPM2B_PUBLIC ‖ TPM2B_PRIVATE.
  func seal(_ key: SecretBytes, _ conditions: Conditions, pin: SecretBytes?) throws(ProtectorFailure) -> [UInt8] {
    let sensitive = SecretBytes(count: MemoryLayout<TPM2B_SENSITIVE_CREATE>.size) { memory in
      let sensitive = memory.bindMemory(to: TPM2B_SENSITIVE_CREATE.self).baseAddress
      key.withUnsafeBytes { key in
        if let pin {
          pin.withUnsafeBytes {
            liquid_tpm_fill_sensitive(
              sensitive, $0.assumingMemoryBound(to: TPM2B_AUTH.self).baseAddress, key.baseAddress, key.count)
          }
        } else {
          liquid_tpm_fill_sensitive(sensitive, nil, key.baseAddress, key.count)
        }
      }
    }
    var template: TPM2B_PUBLIC
    if conditions.pcrs == Conditions.noPCRs {
      template = liquid_tpm_sealed_key(nil, conditions.hasPIN ? 1 : 0)
    } else {
      var policy = try policy(of: conditions)
      template = liquid_tpm_sealed_key(&policy, conditions.hasPIN ? 1 : 0)
    }
    let session = try startSession(LIQUID_SE_HMAC, LIQUID_SESSION_DECRYPT)
    defer { flush(session) }
    var (outside, pcrs) = (TPM2B_DATA(), TPML_PCR_SELECTION())
    var privateArea: UnsafeMutablePointer<TPM2B_PRIVATE>?
    var publicArea: UnsafeMutablePointer<TPM2B_PUBLIC>?
    defer {
      Esys_Free(privateArea)
      Esys_Free(publicArea)
    }
    try Self.check(
      sensitive.withUnsafeBytes {
        Esys_Create(
          context, storageKey, session, LIQUID_TR_NONE, LIQUID_TR_NONE,
          $0.assumingMemoryBound(to: TPM2B_SENSITIVE_CREATE.self).baseAddress, &template, &outside, &pcrs, &privateArea,
          &publicArea, nil, nil, nil)
      })
    var object = [UInt8](repeating: 0, count: ProtectorMessage.maximumBodySize)
    object.removeLast(object.count - liquid_tpm_marshal(publicArea, privateArea, &object, object.count))
    return object
  }

  /// Loads a sealed key: TPM2B_PUBLIC ‖ TPM2B_PRIVATE.
  func load(_ object: [UInt8]) throws(ProtectorFailure) -> SealedKey {
    var (publicArea, privateArea) = (TPM2B_PUBLIC(), TPM2B_PRIVATE())
    guard liquid_tpm_unmarshal(object, object.count, &publicArea, &privateArea) != 0 else { throw .otherTPM }
    let session = try startSession(LIQUID_SE_HMAC)
    defer { flush(session) }
    var handle = LIQUID_TR_NONE
    try Self.check(
      Esys_Load(context, storageKey, session, LIQUID_TR_NONE, LIQUID_TR_NONE, &privateArea, &publicArea, &handle))
    return SealedKey(handle: handle, policy: publicArea.publicArea.authPolicy)
  }

  /// A loaded key; the caller flushes its handle.
  struct SealedKey {
    let handle: ESYS_TR
    /// Empty if the auth value alone allows its use.
    let policy: TPM2B_DIGEST
  }

  /// Unseals a key of `count` bytes.
  ///
  /// - Parameter pin: the auth value, a TPM2B_AUTH; `nil` without a PIN.
  /// - Throws: ``ProtectorFailure/wrongPIN``, which the TPM counts towards its lock-out, or another ``ProtectorFailure``.
  func unseal(
    _ key: SealedKey, _ conditions: Conditions, pin: SecretBytes?, count: Int
  ) throws(ProtectorFailure) -> SecretBytes {
    if let pin {
      try Self.check(
        pin.withUnsafeBytes {
          Esys_TR_SetAuth(context, key.handle, $0.assumingMemoryBound(to: TPM2B_AUTH.self).baseAddress)
        })
    }
    let session: ESYS_TR
    if conditions.pcrs == Conditions.noPCRs {
      session = try startSession(LIQUID_SE_HMAC, LIQUID_SESSION_ENCRYPT)
    } else {
      session = try startSession(LIQUID_SE_POLICY, LIQUID_SESSION_ENCRYPT)
      do throws(ProtectorFailure) { try fill(session, with: conditions) } catch {
        flush(session)
        throw error
      }
    }
    defer { flush(session) }
    var data: UnsafeMutablePointer<TPM2B_SENSITIVE_DATA>?
    try Self.check(Esys_Unseal(context, key.handle, session, LIQUID_TR_NONE, LIQUID_TR_NONE, &data))
    guard let data else { throw .otherTPM }
    defer {
      explicit_bzero(data, MemoryLayout<TPM2B_SENSITIVE_DATA>.size)
      Esys_Free(data)
    }
    guard data.pointee.size == count else { throw .otherTPM }
    return withUnsafeBytes(of: &data.pointee.buffer) {
      SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(count)))
    }
  }

  /// Checks the registers and the lock-out, without a PIN: after this check, the right PIN unseals the key.
  func checkConditions(of key: SealedKey, _ conditions: Conditions) throws(ProtectorFailure) {
    if conditions.pcrs != Conditions.noPCRs {
      var (now, then) = (try policy(of: conditions), key.policy)
      guard liquid_tpm_same_digest(&now, &then) != 0 else { throw .changedPCRs }
    }
    guard conditions.hasPIN else { return }
    var properties: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
    try Self.check(liquid_tpm_properties(context, &properties))
    defer { Esys_Free(properties) }
    guard liquid_tpm_property(properties, LIQUID_PT_PERMANENT) & LIQUID_PERMANENT_INLOCKOUT != 0 else { return }
    let seconds = liquid_tpm_property(properties, LIQUID_PT_LOCKOUT_INTERVAL)
    throw .lockedOut(minutes: Int(seconds) / 60 + (seconds % 60 == 0 ? 0 : 1))
  }

  /// Checks that the TPM has the registers.
  func checkBank(of conditions: Conditions) throws(ProtectorFailure) {
    guard conditions.pcrs != Conditions.noPCRs else { return }
    var wanted = liquid_tpm_pcrs(conditions.pcrs)
    var read: UnsafeMutablePointer<TPML_PCR_SELECTION>?
    // One command reads at most eight registers. The answer selects those that exist.
    try Self.check(
      Esys_PCR_Read(context, LIQUID_TR_NONE, LIQUID_TR_NONE, LIQUID_TR_NONE, &wanted, nil, &read, nil))
    defer { Esys_Free(read) }
    guard let read, liquid_tpm_has_pcrs(read) != 0 else {
      throw ProtectorFailure(
        .failed, "the TPM has no PCRs for SHA-256", hint: "turn them on in the firmware, or omit --pcrs")
    }
  }

  // MARK: Sessions

  /// The policy digest for the present values of the registers.
  private func policy(of conditions: Conditions) throws(ProtectorFailure) -> TPM2B_DIGEST {
    let session = try startSession(LIQUID_SE_TRIAL)
    defer { flush(session) }
    try fill(session, with: conditions)
    var digest: UnsafeMutablePointer<TPM2B_DIGEST>?
    try Self.check(
      Esys_PolicyGetDigest(context, session, LIQUID_TR_NONE, LIQUID_TR_NONE, LIQUID_TR_NONE, &digest))
    defer { Esys_Free(digest) }
    guard let digest else { throw .otherTPM }
    return digest.pointee
  }

  private func fill(_ session: ESYS_TR, with conditions: Conditions) throws(ProtectorFailure) {
    var (current, pcrs) = (TPM2B_DIGEST(), liquid_tpm_pcrs(conditions.pcrs))
    try Self.check(
      Esys_PolicyPCR(context, session, LIQUID_TR_NONE, LIQUID_TR_NONE, LIQUID_TR_NONE, &current, &pcrs))
    guard conditions.hasPIN else { return }
    try Self.check(Esys_PolicyAuthValue(context, session, LIQUID_TR_NONE, LIQUID_TR_NONE, LIQUID_TR_NONE))
  }

  private func startSession(_ type: TPM2_SE, _ attributes: TPMA_SESSION = 0) throws(ProtectorFailure) -> ESYS_TR {
    var (session, cipher) = (LIQUID_TR_NONE, liquid_tpm_session_cipher())
    try Self.check(
      Esys_StartAuthSession(
        context, storageKey, LIQUID_TR_NONE, LIQUID_TR_NONE, LIQUID_TR_NONE, LIQUID_TR_NONE, nil, type, &cipher,
        LIQUID_ALG_SHA256, &session))
    let flags = LIQUID_SESSION_CONTINUE | attributes
    try Self.check(Esys_TRSess_SetAttributes(context, session, flags, 0xFF))
    return session
  }

  func flush(_ handle: ESYS_TR) {
    if handle != LIQUID_TR_NONE { Esys_FlushContext(context, handle) }
  }

  // MARK: Counters

  /// Defines a counter, which can be read after its first increment.
  ///
  /// Its first value is greater than that of any counter that this TPM ever had.
  ///
  /// - Parameter auth: the counter's auth value, a TPM2B_AUTH.
  /// - Returns: the counter; `nil` if the index is in use already.
  func defineCounter(_ index: UInt32, auth: SecretBytes) throws(ProtectorFailure) -> ESYS_TR? {
    let session = try startSession(LIQUID_SE_HMAC, LIQUID_SESSION_DECRYPT)
    defer { flush(session) }
    var (area, handle) = (liquid_tpm_counter(index), LIQUID_TR_NONE)
    let result = auth.withUnsafeBytes {
      Esys_NV_DefineSpace(
        context, LIQUID_TR_OWNER, session, LIQUID_TR_NONE, LIQUID_TR_NONE,
        $0.assumingMemoryBound(to: TPM2B_AUTH.self).baseAddress, &area, &handle)
    }
    switch liquid_tpm_result(result) {
    case LIQUID_TPM_NV_DEFINED: return nil
    case LIQUID_TPM_NV_SPACE:
      throw ProtectorFailure(
        .failed, "the TPM has no space for a counter",
        hint: "remove an NV index that nothing uses, with: tpm2_nvundefine")
    default: do throws(ProtectorFailure) { try Self.check(result) } catch { throw error.ofOwner }
    }
    return handle
  }

  /// Opens a counter that was defined before.
  ///
  /// - Throws: `absent` if the TPM has none with this index.
  func counter(_ index: UInt32) throws(ProtectorFailure) -> ESYS_TR {
    var handle = LIQUID_TR_NONE
    let result = Esys_TR_FromTPMPublic(
      context, index, LIQUID_TR_NONE, LIQUID_TR_NONE, LIQUID_TR_NONE, &handle)
    guard liquid_tpm_result(result) != LIQUID_TPM_NO_HANDLE else { throw .noCounter }
    try Self.check(result)
    var area: UnsafeMutablePointer<TPM2B_NV_PUBLIC>?
    try Self.check(
      Esys_NV_ReadPublic(context, handle, LIQUID_TR_NONE, LIQUID_TR_NONE, LIQUID_TR_NONE, &area, nil))
    defer { Esys_Free(area) }
    guard let area, liquid_tpm_is_counter(area, index) != 0 else { throw .noCounter }
    return handle
  }

  /// Reads a counter.
  ///
  /// The auth value authenticates the answers, too: no other TPM and no other index can give them.
  ///
  /// - Parameters:
  ///   - auth: the counter's auth value, a TPM2B_AUTH.
  ///   - incremented: whether to increment the counter first.
  /// - Throws: `absent` if the counter has another auth value.
  func read(_ counter: ESYS_TR, auth: SecretBytes, incremented: Bool) throws(ProtectorFailure) -> UInt64 {
    try Self.check(
      auth.withUnsafeBytes {
        Esys_TR_SetAuth(context, counter, $0.assumingMemoryBound(to: TPM2B_AUTH.self).baseAddress)
      })
    let session = try startSession(LIQUID_SE_HMAC)
    defer { flush(session) }
    let size = UInt64.bitWidth / 8
    var data: UnsafeMutablePointer<TPM2B_MAX_NV_BUFFER>?
    do throws(ProtectorFailure) {
      if incremented {
        try Self.check(Esys_NV_Increment(context, counter, counter, session, LIQUID_TR_NONE, LIQUID_TR_NONE))
      }
      try Self.check(
        Esys_NV_Read(context, counter, counter, session, LIQUID_TR_NONE, LIQUID_TR_NONE, UInt16(size), 0, &data))
    } catch {
      throw error == .wrongPIN || error == .badAuthorization ? .noCounter : error
    }
    defer { Esys_Free(data) }
    guard let data, Int(data.pointee.size) == size else { throw .noCounter }
    return withUnsafeBytes(of: &data.pointee.buffer) { $0.prefix(size).reduce(0) { $0 << 8 | UInt64($1) } }
  }

  /// Removes a counter from the TPM.
  func undefine(_ counter: ESYS_TR) throws(ProtectorFailure) {
    do throws(ProtectorFailure) {
      try Self.check(
        Esys_NV_UndefineSpace(
          context, LIQUID_TR_OWNER, counter, LIQUID_TR_PASSWORD, LIQUID_TR_NONE, LIQUID_TR_NONE))
    } catch {
      throw error.ofOwner
    }
  }

  // MARK: Errors

  private static func check(_ result: TSS2_RC) throws(ProtectorFailure) {
    guard result != 0 else { return }
    throw switch liquid_tpm_result(result) {
    case LIQUID_TPM_AUTH_FAIL: .wrongPIN
    case LIQUID_TPM_BAD_AUTH: .badAuthorization
    case LIQUID_TPM_POLICY_FAIL, LIQUID_TPM_PCR_CHANGED: .changedPCRs
    case LIQUID_TPM_INTEGRITY: .otherTPM
    case LIQUID_TPM_LOCKOUT: .lockedOut(minutes: nil)
    default:
      ProtectorFailure(.failed, "the TPM refused a command (0x\(String(result, radix: 16)))", hint: "try again")
    }
  }
}

extension ProtectorFailure {
  static let wrongPIN = ProtectorFailure(.wrongPIN, "the PIN is wrong")
  fileprivate static let badAuthorization = ProtectorFailure(.failed, "the TPM refused the authorization")
  /// The failure of a command that the owner hierarchy authorizes, with an empty auth value.
  fileprivate var ofOwner: ProtectorFailure {
    guard self == .wrongPIN || self == .badAuthorization else { return self }
    return ProtectorFailure(
      .failed, "the TPM's owner hierarchy has a password", hint: "remove it with: tpm2_changeauth -c owner -p PASSWORD")
  }
  static let noCounter = ProtectorFailure(
    .absent, "the counter is not in this TPM: the TPM was cleared or replaced")
  static let changedPCRs = ProtectorFailure(
    .failed,
    "the state of the machine has changed since the slot was added (PCRs)",
    hint: "use the passphrase, then remove the slot and add it again")
  static let otherTPM = ProtectorFailure(
    .absent, "this TPM cannot unseal the key: it was cleared, or is another one",
    hint: "remove the slot, and add it again")

  static func lockedOut(minutes: Int?) -> ProtectorFailure {
    let wait = minutes.map { "wait \($0) \($0 == 1 ? "minute" : "minutes")" } ?? "wait"
    return ProtectorFailure(
      .failed,
      "the TPM is locked out after too many wrong PINs",
      hint: "\(wait), or run: sudo tpm2_dictionarylockout --clear-lockout")
  }
}
