import CBOR
import CTAP2
import Glibc

/// A state directory that the programs under test have made themselves, so that they can be of an earlier version: with a
/// passkey, and a program in the place of systemd-creds.
struct InstalledKey {
  static let rpID = "example.com"
  static let clientDataHash = [UInt8](0..<32)

  let programs: Programs
  let folder: String
  /// The id of the passkey.
  let passkey: [UInt8]

  private static let phrase =
    "salon zoo engage submit smile frost later decide wing sight chaos renew lizard rely canal coral scene hobby scare step "
    + "bus leaf tobacco slice"

  /// Makes vault and store, and registers the passkey.
  init(_ programs: Programs, folder: String) throws {
    mkdir(folder, 0o700)
    try Self.writeSlotProgram(at: folder + "/systemd-creds")
    let unused = Self(programs: programs, folder: folder, passkey: [])
    try unused.run(
      "init", "--import", "--state-dir", unused.state, typing: "\(Self.phrase)\n\(KeyInUse.passphrase)\n")
    let daemon = try unused.startUnlocked()
    defer { daemon.stop() }
    var client = try Client(connectingTo: unused.socket)
    let registration = try Self.registration(of: 0, by: &client)
    let answer = try client.ask(registration).parameters
    // rpIdHash, flags, signCount, AAGUID; then the length of the id, and the id: WebAuthn §6.5.1.
    let data = try answer.requiredBytes(2)
    guard data.count > 55, data.count > 55 + Int(data[54]) else { throw BenchmarkError("a registration without an id") }
    self = Self(programs: programs, folder: folder, passkey: Array(data[55..<55 + Int(data[54])]))
  }

  private init(programs: Programs, folder: String, passkey: [UInt8]) {
    (self.programs, self.folder, self.passkey) = (programs, folder, passkey)
  }

  var state: String { folder + "/state" }
  var control: String { folder + "/control.sock" }
  var socket: String { folder + "/ctap.sock" }
  /// It takes the place of systemd-creds.
  var slotProgram: String { folder + "/systemd-creds" }

  private var environment: [String] { KeyInUse.environment + ["LIQUID_AUTH_SYSTEMD_CREDS=" + slotProgram] }

  /// Runs a command, which may ask for the passphrase.
  func run(_ arguments: String..., typing input: String = KeyInUse.passphrase + "\n") throws(BenchmarkError) {
    let log = folder + "/commands.log"
    let command = try ChildProcess(programs.command, arguments, input: input, log: log, environment: environment)
    let status = command.wait()
    guard status == 0 else { throw BenchmarkError("liquid-auth \(arguments[0]) ended with \(status); see \(log)") }
  }

  /// Starts the daemon, whose vault is locked.
  ///
  /// - Parameter variables: of its environment; the first of a name counts.
  func start(_ variables: [String] = []) throws(BenchmarkError) -> ChildProcess {
    let daemon = try ChildProcess(
      programs.daemon,
      ["--state-dir", state, "--control", control, "--transport", "unix:" + socket, "--pinentry", programs.pinentry],
      log: folder + "/daemon.log", environment: variables + environment)
    _ = try ReportSocket.connect(to: socket)
    return daemon
  }

  func startUnlocked() throws(BenchmarkError) -> ChildProcess {
    let daemon = try start()
    try run("unlock", "--control", control)
    return daemon
  }

  /// The reports of a registration of a discoverable passkey, with presence and verification by a token.
  static func registration(of user: Int, by client: inout Client) throws -> [[UInt8]] {
    let token = try Token(for: .makeCredential, rpID: rpID, of: &client)
    let id = withUnsafeBytes(of: user.bigEndian) { Array($0) }
    let parameters: CBORMap = [
      1: .bytes(clientDataHash), 2: ["id": .text(rpID)],
      3: ["id": .bytes(id), "name": "alice", "displayName": "Alice"], 4: [["alg": -7, "type": "public-key"]],
      7: ["rk": true], 8: token.param(clientDataHash), 9: 1,
    ]
    return try client.reports(MakeCredential.code, parameters)
  }

  /// The reports of a sign-in with presence and verification by a token.
  func signIn(by client: inout Client) throws -> [[UInt8]] {
    let token = try Token(for: .getAssertion, rpID: Self.rpID, of: &client)
    var parameters = request
    parameters[6] = token.param(Self.clientDataHash)
    parameters[7] = 1
    return try client.reports(GetAssertion.code, parameters)
  }

  /// The reports of a sign-in without presence, which shows no dialog.
  func silentSignIn(by client: Client) throws -> [[UInt8]] {
    var parameters = request
    parameters[5] = ["up": false]
    return try client.reports(GetAssertion.code, parameters)
  }

  private var request: CBORMap {
    [
      1: .text(Self.rpID), 2: .bytes(Self.clientDataHash), 3: [["id": .bytes(passkey), "type": "public-key"]],
    ]
  }

  /// Writes a program that keeps one key in a file: as fast as one can be.
  private static func writeSlotProgram(at path: String) throws(BenchmarkError) {
    let text = """
      #!/bin/sh
      case $1 in
      --version) echo 'systemd 257 (257.8-1)' ;;
      encrypt) cat >"$0.key" && echo credential ;;
      decrypt) cat >/dev/null && cat "$0.key" ;;
      esac

      """
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o700)
    guard file >= 0 else { throw .system("make \(path)") }
    defer { close(file) }
    guard write(file, text, text.utf8.count) == text.utf8.count else { throw .system("write \(path)") }
  }
}
