import CBOR
import CTAP2
import CryptoPrimitives
import Recovery
import Vault

/// getAssertion with up=false, from the client's side of the daemon's socket.
struct SignIn {
  let programs: Programs
  let folder: String
  let samples: Int

  private static let clientDataHash = [UInt8](0..<32)
  /// So many of one kind are measured before the turn passes.
  private static let turn = 10

  func measure(stored counts: [Int]) throws {
    var rows: [Row] = []
    for (number, count) in counts.enumerated() { rows += try self.rows(stored: count, place: "\(folder)/\(number)") }
    for _ in 0..<(samples / Self.turn) {
      for index in rows.indices {
        let (client, request, floor) = (rows[index].client, rows[index].request, rows[index].floor)
        for _ in 0..<Self.turn { try rows[index].comparison.floor.measure { floor.exchange() }.orThrow() }
        for _ in 0..<Self.turn {
          try rows[index].comparison.subject.measure { client.socket.exchange(request) }.orThrow()
        }
      }
    }
    Text.table(
      "getAssertion, up=false, over unix:, \(samples) of each. Floor: an echo of the same reports and one signature.",
      [Comparison.header] + rows.map(\.comparison.cells))
  }

  private struct Row {
    let daemon: ChildProcess
    let client: Client
    let request: [[UInt8]]
    let floor: EchoFloor
    var comparison: Comparison
  }

  /// A daemon with so many credentials, and two rows for it.
  private func rows(stored count: Int, place: String) throws -> [Row] {
    let key = try KeyInUse(folder: place, cost: PassphraseCost(opsLimit: 1, memLimit: 8192))
    let (stored, sealed) = try Self.fill(key, count)
    let (daemon, socket) = try key.start(programs)
    // One client for both: as with hidraw, whoever is connected gets the answers to all.
    var client = try Client(connectingTo: socket)
    return try [("stored, discoverable", stored), ("sealed, non-discoverable", sealed)].map { name, credential in
      let parameters: CBORMap = [
        1: .text(credential.rpID), 2: .bytes(Self.clientDataHash),
        3: [["id": .bytes(credential.id), "type": "public-key"]], 5: ["up": false],
      ]
      let request = try client.reports(GetAssertion.code, parameters)
      let (answer, response) = try client.ask(request)
      try Self.check(response, by: try key.keys.privateKey(of: credential).publicKey)
      return Row(
        daemon: daemon, client: client, request: request,
        floor: try EchoFloor(programs, at: "\(place)/\(name.prefix(6)).sock", request: request, answer: answer),
        comparison: Comparison(name: "\(name), of \(count)"))
    }
  }

  /// Registers at as many sites; returns one of the credentials, and one that is not stored.
  private static func fill(_ key: KeyInUse, _ count: Int) throws -> (stored: Credential, sealed: Credential) {
    let vault = try key.open()
    var stored: Credential?
    for number in 0..<count {
      let source = try vault.makeDiscoverableCredential(
        registration(site: number), known: nil, now: UInt64(number))
      try vault.save(source)
      if number == count / 2 { stored = Credential(record: source) }
    }
    var generator = SystemRandomNumberGenerator()
    let sealed = try vault.makeNonDiscoverableCredential(registration(site: count), using: &generator)
    guard let stored else { throw BenchmarkError("nothing was stored") }
    return (stored, sealed)
  }

  private static func registration(site: Int) -> CredentialRegistration {
    CredentialRegistration(
      rpID: "site-\(100_000 + site).example.com",
      user: PublicKeyCredentialUserEntity(id: Array("user-\(site)".utf8), name: "alice", displayName: "Alice"),
      algorithm: .es256)
  }

  /// Only what signs rightly is worth measuring.
  private static func check(_ response: CBORMap, by publicKey: CredentialPublicKey) throws {
    let (data, signature) = (try response.requiredBytes(2), try response.requiredBytes(3))
    guard publicKey.isValidSignature(signature, for: data + clientDataHash) else {
      throw BenchmarkError("a signature that is not the credential's")
    }
  }
}

extension Bool {
  fileprivate func orThrow() throws(BenchmarkError) {
    if !self { throw BenchmarkError("the other side of a socket has gone") }
  }
}
