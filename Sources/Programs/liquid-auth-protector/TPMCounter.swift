import CTSS
import CryptoPrimitives
import ProtectorProtocol

/// A counter in the NV memory of the TPM, which cannot be decreased (Recovery §6).
struct TPMCounter {
  /// The range of NV indexes for the owner, in the TCG's registry of handles.
  private static let indexes: ClosedRange<UInt32> = 0x0180_0000...0x01BF_FFFF
  /// How many random indexes are tried, because other programs may use some.
  private static let tries = 8

  /// The NV index, and whether to increment the counter before it is read; `nil` to make a counter.
  private let access: (index: UInt32, increments: Bool)?
  /// The auth value, a TPM2B_AUTH; `nil` to make or remove a counter.
  private let auth: SecretBytes?

  /// - Parameters:
  ///   - data: BE32 of the index ‖ 01 to increment it, otherwise 00; empty to make a counter.
  ///   - auth: the auth value, 32 bytes; `nil` to make or remove a counter.
  init?(data: [UInt8], auth: SecretBytes?) {
    guard auth.map({ $0.count == ProtectorRequest.keySize }) ?? true else { return nil }
    self.auth = auth.map(TPM.authValue)
    if data.isEmpty {
      access = nil
      return
    }
    let index = data.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    guard data.count == 5, data[4] <= 1, Self.indexes.contains(index) else { return nil }
    access = (index, data[4] == 1)
  }

  /// Makes a counter with a random auth value.
  ///
  /// - Returns: the auth value, 32 bytes, and BE32 of the index ‖ BE64 of the value.
  static func make() throws(ProtectorFailure) -> (auth: SecretBytes, data: [UInt8]) {
    let (tpm, auth) = (try TPM(), SecretBytes.random(count: ProtectorRequest.keySize))
    let value = TPM.authValue(auth)
    for _ in 0..<tries {
      let index = UInt32.random(in: indexes)
      guard let counter = try tpm.defineCounter(index, auth: value) else { continue }
      let failure: ProtectorFailure
      do throws(ProtectorFailure) {
        return (auth, bytes(index) + bytes(try tpm.read(counter, auth: value, incremented: true)))
      } catch {
        failure = error
      }
      do throws(ProtectorFailure) { try tpm.undefine(counter) } catch {
        let place = "0x0\(String(index, radix: 16))"
        throw ProtectorFailure(
          failure.kind,
          "\(failure); the new counter is still in the TPM, at \(place)",
          hint: "remove it with: tpm2_nvundefine \(place)")
      }
      throw failure
    }
    throw ProtectorFailure(.failed, "the TPM has no free NV index for a counter", hint: "try again")
  }

  /// The value, BE64; `nil` without an index or an auth value.
  func value() throws(ProtectorFailure) -> [UInt8]? {
    guard let access, let auth else { return nil }
    let tpm = try TPM(makesStorageKey: false)
    return bytes(try tpm.read(tpm.counter(access.index), auth: auth, incremented: access.increments))
  }

  /// Removes the counter.
  ///
  /// - Returns: `false` without an index.
  func delete() throws(ProtectorFailure) -> Bool {
    guard let access else { return false }
    let tpm = try TPM(makesStorageKey: false)
    try tpm.undefine(tpm.counter(access.index))
    return true
  }
}

/// The bytes of an integer, big-endian.
private func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
