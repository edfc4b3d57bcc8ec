import CBOR
import CTAP2
import Recovery

/// getAssertion with up=false, measured at the client's side of the daemon's socket.
struct SignIn {
  let programs: Programs
  let stores: [StoredPasskeys]
  let samples: Int

  private static let clientDataHash = [UInt8](0..<32)
  /// The number of consecutive samples of one kind.
  private static let turn = 10

  /// Measures on one processor.
  ///
  /// On two, the kernel leaves each process where it started, and often only one of the daemon and its floor shares the
  /// client's processor: the ratio is then 2 or 0.9. With both on the other processor it is the same as here.
  func measure() throws { try onOneProcessor { try measureThere() } }

  private func measureThere() throws {
    var rows = try stores.flatMap(rows)
    for _ in 0..<(samples / Self.turn) {
      for index in rows.indices {
        let (client, request, floor) = (rows[index].client, rows[index].request, rows[index].floor)
        for _ in 0..<Self.turn { try rows[index].comparison.floor.measure { floor.exchange() }.orThrow() }
        for _ in 0..<Self.turn {
          try rows[index].comparison.subject.measure { client.socket.exchange(request) }.orThrow()
        }
      }
    }
    Comparison.table(
      """
      getAssertion, up=false, over unix:, all on one processor, \(samples) of each. Floor: an echo of the same \
      reports and one signature.
      """,
      rows.map(\.comparison))
  }

  private struct Row {
    let daemon: ChildProcess
    let client: Client
    let request: [[UInt8]]
    let floor: EchoFloor
    var comparison: Comparison
  }

  /// Starts a daemon with the store's passkeys, and makes two rows for it.
  private func rows(of store: StoredPasskeys) throws -> [Row] {
    let (daemon, socket) = try store.key.start(programs)
    // One client for both rows: as with hidraw, each connection gets all answers.
    var client = try Client(connectingTo: socket)
    return try [("stored, discoverable", store.stored), ("sealed, non-discoverable", store.sealed)].map {
      name, credential in
      let parameters: CBORMap = [
        1: .text(credential.rpID), 2: .bytes(Self.clientDataHash),
        3: [["id": .bytes(credential.id), "type": "public-key"]], 5: ["up": false],
      ]
      let request = try client.reports(GetAssertion.code, parameters)
      let (answer, response) = try client.ask(request)
      try Self.check(response, by: try store.key.keys.privateKey(of: credential).publicKey)
      return Row(
        daemon: daemon, client: client, request: request,
        floor: try EchoFloor(
          programs, at: "\(store.key.folder)/\(name.prefix(6)).sock", request: request, answer: answer),
        comparison: Comparison(name: name, stored: store.count))
    }
  }

  /// Checks the signature, so that only a correct answer is measured.
  private static func check(_ response: CBORMap, by publicKey: CredentialPublicKey) throws {
    let (data, signature) = (try response.requiredBytes(2), try response.requiredBytes(3))
    guard publicKey.isValidSignature(signature, for: data + clientDataHash) else {
      throw BenchmarkError("a signature that is not the credential's")
    }
  }
}

extension Bool {
  func orThrow() throws(BenchmarkError) {
    if !self { throw BenchmarkError("the other side of a socket has gone") }
  }
}
