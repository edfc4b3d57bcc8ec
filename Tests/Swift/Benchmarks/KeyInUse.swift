import CBOR
import CTAPHID
import CredentialDB
import CryptoPrimitives
import DeterministicKeys
import Glibc
import Recovery
import StateDirectory
import Vault

/// A state directory with a new phrase, filled by the daemon's own libraries.
struct KeyInUse {
  static let passphrase = "correct horse battery staple"

  let folder: String
  let directory: StateDirectory
  let keys: CredentialKeys
  let root: SecretBytes
  private let content: VaultContent

  /// Creates vault and store.
  init(folder: String, cost: PassphraseCost) throws {
    self.folder = folder
    mkdir(folder, 0o700)
    let phrase = BIP39Phrase.generate()
    let mainKey = try MainKey.derive(from: phrase)
    root = try BIP32Ed25519.root(from: phrase)
    directory = try StateDirectory(creating: folder + "/state")
    var typed = Array(Self.passphrase.utf8)
    let passphrase = SecretBytes(consuming: &typed)
    try directory.makeVaultAndStore(
      mainKey: mainKey, ed25519Root: root, passphrase: passphrase, credentialIDForm: .sealed, created: 1, cost: cost)
    content = try directory.unlock(passphrase: passphrase).content
    keys = CredentialKeys(mainKey: mainKey)
  }

  /// The open vault, as in the daemon; the store must not be open elsewhere.
  func open() throws -> OpenVault {
    OpenVault(
      keys: keys, ed25519Root: root, store: try directory.openStore(of: content, keys: keys),
      maximumDiscoverableCredentials: .max)
  }

  /// Starts the daemon with this directory, and unlocks it.
  func start(_ programs: Programs) throws -> (daemon: ChildProcess, socket: String) {
    let (socket, control, log) = (folder + "/ctap.sock", folder + "/control.sock", folder + "/daemon.log")
    let daemon = try ChildProcess(programs.daemon, arguments(programs), log: log, environment: Self.environment)
    _ = try ReportSocket.connect(to: socket)
    try run(programs.command, ["unlock", "--control", control], input: Self.passphrase + "\n", log: log)
    return (daemon, socket)
  }

  /// Lists all passkeys, from the daemon that runs; the list goes into a file.
  func list(_ programs: Programs) throws(BenchmarkError) {
    try run(
      programs.command, ["credentials", "list", "--control", folder + "/control.sock"], input: Self.passphrase + "\n",
      log: folder + "/list.log")
  }

  func arguments(_ programs: Programs) -> [String] {
    [
      "--state-dir", directory.path, "--control", folder + "/control.sock", "--transport", "unix:\(folder)/ctap.sock",
      "--pinentry", programs.pinentry,
    ]
  }

  static let environment = ["PINENTRY_PASSPHRASE=" + passphrase]
}

/// A client of the daemon, with its own channel.
struct Client {
  let socket: ReportSocket
  private var machine = ClientMachine()

  init(connectingTo path: String) throws(BenchmarkError) {
    socket = try ReportSocket.connect(to: path)
    let nonce = randomBytes(8)
    socket.send(machine.open(nonce: nonce).bytes)
    guard case .opened = try next() else { throw BenchmarkError("no channel at \(path)") }
  }

  /// The reports of a CTAP2 message.
  func reports(_ code: UInt8, _ parameters: CBORMap) throws -> [[UInt8]] {
    try machine.request(.cbor, [code] + CBOREncoder.encode(.map(parameters))).map(\.bytes)
  }

  /// The reports and the map of the answer to a message; throws if the answer is an error.
  mutating func ask(_ reports: [[UInt8]]) throws(BenchmarkError) -> (reports: [[UInt8]], parameters: CBORMap) {
    reports.forEach(socket.send)
    var answer: [[UInt8]] = []
    while true {
      switch try next(&answer) {
      case .keepalive: answer = []
      case .response(.cbor, let payload) where payload.first == 0:
        guard let map = try? CBORDecoder.decode(Array(payload.dropFirst())).map else {
          throw BenchmarkError("an answer that is no map")
        }
        return (answer, map)
      case let event: throw BenchmarkError("the authenticator answered \(event)")
      }
    }
  }

  private mutating func next() throws(BenchmarkError) -> ClientMachine.Event {
    var packets: [[UInt8]] = []
    return try next(&packets)
  }

  private mutating func next(_ packets: inout [[UInt8]]) throws(BenchmarkError) -> ClientMachine.Event {
    while let packet = socket.receive(count: 1)?.first, let report = Report(packet) {
      packets.append(packet)
      if let event = machine.receive(report) { return event }
    }
    throw BenchmarkError("the daemon has gone")
  }
}
