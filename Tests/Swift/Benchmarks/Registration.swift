import AlgorandStatements
import ArgumentParser
import CBOR
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Glibc
import Recovery

/// makeCredential in this process, with a user who always agrees, with and without the durable write.
struct Registration {
  let folder: String
  let stores: [StoredPasskeys]
  let samples: Int

  /// The number of consecutive samples of one kind.
  private static let turn = 10

  func measure() async throws {
    let key = stores[0].key
    let inMemory = OpenVault(
      keys: key.keys, ed25519Root: key.root, store: InMemoryCredentialStore(keys: key.keys))
    var rows = [
      Row("rk=false", inMemory, rk: false, stored: 0), Row("rk=true, in memory", inMemory, rk: true, stored: 0),
    ]
    rows += try stores.map { Row("rk=true, durable", try $0.key.open(), rk: true, stored: $0.count) }
    let disk = try DiskFloor(at: folder + "/floor")
    for _ in 0..<(samples / Self.turn) {
      for index in rows.indices {
        let isDurable = index > 1
        for _ in 0..<Self.turn {
          try rows[index].comparison.floor.measure {
            try Self.floor()
            if isDurable { try disk.write() }
          }
        }
        for _ in 0..<Self.turn { try await rows[index].measure() }
      }
    }
    Comparison.table(
      "makeCredential in process, \(samples) of each. Floor: one key pair and one signature; durable: and one fdatasync.",
      rows.map(\.comparison))
  }

  /// The two curve operations that every registration needs.
  private static func floor() throws {
    let key = try P256.PrivateKey(scalar: SecretBytes.random(count: P256.fieldSize))
    guard key.publicKey.raw.count == 2 * P256.fieldSize else { return }
    _ = try key.signature(for: [UInt8](repeating: 1, count: 300))
  }

  /// One row of the table.
  fileprivate struct Row {
    private var authenticator: Authenticator
    private let message: [UInt8]
    var comparison: Comparison

    init(_ name: String, _ vault: OpenVault, rk: Bool, stored: Int) {
      authenticator = Authenticator(
        keySource: OpenKeySource(vault), interaction: AgreeingPerson(),
        extensions: [CredProtect.self, LiquidExtension.self], randomness: SystemRandomNumberGenerator(),
        now: { .zero }, wallClock: { 0 }, report: { _ in })
      message =
        [MakeCredential.code]
        + CBOREncoder.encode(
          .map(
            [
              1: .bytes([UInt8](0..<32)), 2: ["id": "example.com"],
              3: ["id": .bytes(Array("alice".utf8)), "name": "alice", "displayName": "Alice"],
              4: [["alg": -7, "type": "public-key"]], 7: ["rk": .bool(rk), "uv": true],
            ] as CBORMap))
      comparison = Comparison(name: name, stored: stored)
    }

    mutating func measure() async throws(BenchmarkError) {
      let (context, message) = (RequestContext(channel: 1, poweredUpAt: .zero), message)
      var authenticator = authenticator
      let answer = await comparison.subject.measure { await authenticator.respond(to: message, in: context) }
      guard answer.first == 0 else { throw BenchmarkError("makeCredential answered status \(answer.first ?? 0)") }
      self.authenticator = authenticator
    }
  }
}

/// Repeats one operation, for a test that counts the instructions of this process.
struct Repeat: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Does one thing so many times, and measures nothing.")

  @Option(help: "How many registrations that store nothing.")
  var registrations = 0
  @Option(help: "How many signatures by P-256.")
  var signatures = 0

  func run() async throws {
    let phrase = BIP39Phrase.generate()
    let keys = CredentialKeys(mainKey: try MainKey.derive(from: phrase))
    let vault = OpenVault(
      keys: keys, ed25519Root: try BIP32Ed25519.root(from: phrase), store: InMemoryCredentialStore(keys: keys))
    var row = Registration.Row("rk=false", vault, rk: false, stored: 0)
    let key = try P256.PrivateKey.random()
    for _ in 0..<registrations { try await row.measure() }
    for _ in 0..<signatures { _ = try key.signature(for: [UInt8](repeating: 1, count: 300)) }
  }
}

/// A user who agrees at once.
private struct AgreeingPerson: UserInteraction {
  let canVerify = true
  var verificationTriesLeft: Int { 8 }

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    Confirmation(userVerified: verification)
  }
}

/// The lowest cost of a durable change: one page appended to a file and synchronised.
final class DiskFloor {
  private let descriptor: Int32
  private let page = [UInt8](repeating: 1, count: 4096)

  init(at path: String) throws(BenchmarkError) {
    descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .system("open \(path)") }
  }

  deinit { close(descriptor) }

  func write() throws(BenchmarkError) {
    guard Glibc.write(descriptor, page, page.count) == page.count, fdatasync(descriptor) == 0 else {
      throw .system("write a page")
    }
  }
}
