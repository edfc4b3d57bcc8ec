import ArgumentParser
import CBOR
import Glibc

/// What a change of the daemon can make slower beside the ceremony itself: the entries of the history, unlocking by a slot,
/// and the control socket under attack.
///
/// The programs make the vault themselves: also those of an earlier version, to compare the two.
struct WholeRequests {
  let key: InstalledKey
  let samples: Int

  init(programs: Programs, folder: String, samples: Int) throws {
    key = try InstalledKey(programs, folder: folder + "/installed")
    // Each sample has a dialog before it.
    self.samples = min(samples, 200)
  }

  func measure() throws {
    try onOneProcessor(withTokens)
    try besideWrongTries()
    // Last, because of the slot.
    try bySlot()
  }

  // MARK: The history

  /// As browsers do it: the dialog is that of the token, before what is measured.
  private func withTokens() throws {
    let daemon = try key.startUnlocked()
    defer { daemon.stop() }
    var client = try Client(connectingTo: key.socket)
    let signIn = try key.signIn(by: &client)
    let signInFloor = try EchoFloor(
      key.programs, at: key.folder + "/sign-in.sock", request: signIn, answer: try client.ask(signIn).reports)
    let registration = try InstalledKey.registration(of: 1, by: &client)
    let registrationFloor = try EchoFloor(
      key.programs, at: key.folder + "/registration.sock", request: registration,
      answer: try client.ask(registration).reports)
    let disk = try DiskFloor(at: key.folder + "/floor")
    var signIns = Comparison(name: "sign-in with presence", stored: 1)
    var registrations = Comparison(name: "registration, rk=true", stored: 1)
    for number in 0..<samples {
      try signIns.floor.measure { signInFloor.exchange() }.orThrow()
      let signIn = try key.signIn(by: &client)
      _ = try signIns.subject.measure { try client.ask(signIn) }
      try registrations.floor.measure {
        try registrationFloor.exchange().orThrow()
        try disk.write()
      }
      let registration = try InstalledKey.registration(of: 2 + number, by: &client)
      _ = try registrations.subject.measure { try client.ask(registration) }
    }
    Comparison.table(
      """
      With an entry of the history, presence by a token, over unix:, all on one processor, \(samples) of each. Floor: an \
      echo of the same reports and one signature; registration: and one fdatasync.
      """,
      [signIns, registrations])
  }

  // MARK: A slot

  private static let unlockings = 25

  /// The first request after a start opens the vault by the slot.
  private func bySlot() throws {
    try key.run("vault", "add", "systemd-creds", "--state-dir", key.state, "--control", key.control)
    var row = Comparison(name: "sign-in that a slot unlocks", stored: 1)
    for _ in 0..<Self.unlockings {
      try row.floor.measure {
        for argument in ["--version", "decrypt"] {
          _ = try ChildProcess(key.slotProgram, [argument], input: "credential\n").wait()
        }
      }
      // A dialog would open it, too, and later.
      let daemon = try key.start(["PINENTRY_BEHAVIOUR=deny"])
      defer { daemon.stop() }
      var client = try Client(connectingTo: key.socket)
      let request = try key.silentSignIn(by: client)
      _ = try row.subject.measure { try client.ask(request) }
    }
    Comparison.table(
      """
      The first getAssertion after a start, up=false, \(Self.unlockings) times. Floor: the two runs of the program that keeps \
      the key of the slot.
      """,
      [row])
  }

  // MARK: Wrong tries

  private static let (rounds, wrongPrograms, statusesInRound) = (5, 3, 10)

  private func besideWrongTries() throws {
    let daemon = try key.startUnlocked()
    defer { daemon.stop() }
    var status = Comparison(name: "status", stored: 1)
    var unlock = Comparison(name: "unlock", stored: 1)
    for _ in 0..<Self.rounds {
      try measure(&status.floor, &unlock.floor)
      let others = try (0..<Self.wrongPrograms).map { _ in
        try ChildProcess(key.programs.benchmarks, ["wrong-tries", key.control])
      }
      // Each is in a try then.
      usleep(500_000)
      try measure(&status.subject, &unlock.subject)
      others.forEach { $0.stop() }
      // It waits for the last of their tries, which cannot be stopped.
      try key.run("unlock", "--control", key.control)
    }
    Comparison.table(
      """
      At the control socket, beside \(Self.wrongPrograms) programs that repeat a wrong passphrase, at the cost of `init`, \
      \(Self.rounds * Self.statusesInRound) and \(Self.rounds) times. Floor: the same without them.
      """,
      [status, unlock])
  }

  /// Each on a connection of its own, as a command does it.
  private func measure(_ status: inout Samples, _ unlock: inout Samples) throws {
    for _ in 0..<Self.statusesInRound {
      try status.measure { try ControlConnection(to: key.control).status() == 0 }.orThrow()
    }
    try unlock.measure { try ControlConnection(to: key.control).unlock(KeyInUse.passphrase) == 0 }.orThrow()
  }
}

/// A connection to the control socket, which reads only the status of each answer.
struct ControlConnection {
  private let socket: ReportSocket

  init(to path: String) throws(BenchmarkError) {
    socket = try ReportSocket.connect(to: path)
    // Hello, with the version of the programs, which can be an earlier one.
    for version in 6...16 as ClosedRange<UInt64> where ask(0x50, [1: .unsigned(version)]) == 0 { return }
    throw BenchmarkError("another version of the control protocol at \(path)")
  }

  func status() -> UInt8? { ask(0x51) }

  func unlock(_ passphrase: String) -> UInt8? { ask(0x53, [0: .bytes(Array(passphrase.utf8))]) }

  /// The status of the answer; `nil` if the connection has ended.
  private func ask(_ command: UInt8, _ members: CBORMap? = nil) -> UInt8? {
    socket.send([command] + (members.map { CBOREncoder.encode(.map($0)) } ?? []))
    return socket.receive(count: 1)?.first?.first
  }
}

/// A program that repeats a wrong passphrase.
struct WrongTries: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wrong-tries", abstract: "Repeats a wrong passphrase until it is ended; used by measure.",
    shouldDisplay: false)

  @Argument(help: "The control socket.")
  var path: String

  func run() throws {
    let control = try ControlConnection(to: path)
    while control.unlock("wrong passphrase") != nil {}
  }
}
