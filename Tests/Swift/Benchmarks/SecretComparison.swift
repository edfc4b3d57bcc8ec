import ArgumentParser
import CryptoPrimitives
import Recovery

/// Comparisons of a secret with input from outside, whose time must not depend on where the two differ.
enum SecretComparison: String, CaseIterable, ExpressibleByArgument {
  /// A MAC of CTAP, such as pinUvAuthParam.
  case authenticationCode = "mac"
  /// The hash of a PIN.
  case pinHash = "pin"
  /// The tag of a sealed credential id, compared when the id is opened.
  case sealedID = "sealed-id"
  /// The range check of a private scalar of P-256.
  case scalar
  /// The control: a comparison that ends at the first difference, which the measurement must find.
  case leaking

  var title: String {
    switch self {
    case .authenticationCode: "MAC, 32 bytes"
    case .pinHash: "hash of the PIN, 16 bytes"
    case .sealedID: "sealed credential id"
    case .scalar: "scalar of P-256, range check"
    case .leaking: "control: ends at the first difference, 32 bytes"
    }
  }

  /// Calls between two readings of the clock; they take some microseconds.
  var callsPerSample: Int { self == .sealedID ? 4 : 128 }

  /// Where an input differs from the secret.
  enum Difference: String, CaseIterable, ExpressibleByArgument {
    case first, last
  }

  /// The comparison with its secret, and its inputs.
  func prepared() throws -> PreparedComparison {
    let secret = (0..<64).map { UInt8(truncatingIfNeeded: 17 + 31 * $0) }
    switch self {
    case .authenticationCode:
      let expected = Array(secret.prefix(32))
      return PreparedComparison(Self.differing(expected)) { constantTimeEqual($0.bytes, expected) }
    case .pinHash:
      let expected = Array(secret.prefix(16)).withUnsafeBytes(SecretBytes.init(copying:))
      return PreparedComparison(Self.differing(Array(secret.prefix(16)))) { $0.secret.isEqual(to: expected) }
    case .sealedID:
      let keys = CredentialKeys(mainKey: secret.withUnsafeBytes(SecretBytes.init(copying:)))
      let site = RPIDHash(rpID: "example.com")
      guard let parameters = CredentialParameters.u2f(salt: Array(secret.prefix(16)), epoch: 0) else {
        throw BenchmarkError("a salt of a wrong length")
      }
      let id = try keys.sealedID(parameters, rpIDHash: site)
      let inputs = Self.differing(id, in: (id.count - XChaCha20Poly1305.tagSize)..<id.count)
      return PreparedComparison(inputs) { keys.open(sealedID: $0.bytes, rpIDHash: site) != nil }
    case .scalar:
      // The order of the group with its first, or with its last byte lowered: both are in range.
      let order: [UInt8] = [
        0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
      ]
      return PreparedComparison(Self.differing(order)) { P256.isValidScalar($0.secret) }
    case .leaking:
      let expected = Array(secret.prefix(32))
      return PreparedComparison(Self.differing(expected)) { Self.isSame($0.bytes, expected) }
    }
  }

  /// Copies of the bytes in which the first byte of the range differs, and in which the last one does.
  private static func differing(_ bytes: [UInt8], in range: Range<Int>? = nil) -> [Difference: [UInt8]] {
    let range = range ?? bytes.indices
    var (first, last) = (bytes, bytes)
    first[range.lowerBound] ^= 1
    last[range.upperBound - 1] ^= 1
    return [.first: first, .last: last]
  }

  @inline(never)
  private static func isSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    for index in a.indices where a[index] != b[index] { return false }
    return true
  }
}

/// A comparison, ready to be called.
struct PreparedComparison {
  /// The input of the next calls.
  struct Input {
    var bytes: [UInt8]
    var secret: SecretBytes
  }

  private let inputs: [SecretComparison.Difference: [UInt8]]
  private let compare: (Input) -> Bool
  private var input: Input

  init(_ inputs: [SecretComparison.Difference: [UInt8]], _ compare: @escaping (Input) -> Bool) {
    (self.inputs, self.compare) = (inputs, compare)
    let bytes = inputs[.first] ?? []
    input = Input(bytes: bytes, secret: bytes.withUnsafeBytes(SecretBytes.init(copying:)))
  }

  /// Uses the input of a class, always at the same address, so that it has the same place in the caches.
  mutating func use(_ difference: SecretComparison.Difference) {
    guard let bytes = inputs[difference] else { return }
    for index in bytes.indices { input.bytes[index] = bytes[index] }
    input.secret = SecretBytes(count: 0) { _ in }
    input.secret = bytes.withUnsafeBytes(SecretBytes.init(copying:))
  }

  /// Makes the calls, and returns how many found no difference.
  ///
  /// `daemon/test_constant_time.py` counts the instructions in this function by its name. A mangled name abbreviates words
  /// that it has in common with the type, so this name shares none.
  @inline(never)
  func countedLoop(times: Int) -> Int {
    (0..<times).reduce(0) { same, _ in same + (compare(input) ? 1 : 0) }
  }
}

/// Repeats one comparison, for a test that counts its instructions.
struct CompareSecret: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare-secret", abstract: "Repeats a comparison with a secret, and measures nothing.")

  @Option(help: "The comparison.")
  var comparison: SecretComparison
  @Option(help: "Where the input differs.")
  var difference: SecretComparison.Difference
  @Option(help: "How often it is compared.")
  var times = 100

  func run() throws {
    var prepared = try comparison.prepared()
    prepared.use(difference)
    print(prepared.countedLoop(times: times))
  }
}
