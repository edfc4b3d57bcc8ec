import CLinux
import CryptoPrimitives
import Glibc
import ProcessIO
import ProtectorProtocol

/// The key of one slot, which systemd encrypts for this user on this machine: systemd-creds(1).
///
/// systemd-creds is a client of the system service io.systemd.Credentials, which has the keys of the machine.
struct SystemdCredential: KeyKeeper {
  /// Type 5 of Recovery §1.
  static let slotType: UInt8 = 5
  static let longestCredential = 1536

  /// The variable with another program, for tests.
  private static let variable = "LIQUID_AUTH_SYSTEMD_CREDS"
  private static let name = "liquid-auth-vault"
  /// The first version of systemd with credentials of users.
  private static let version = 256

  private let program = environmentVariable(variable) ?? "systemd-creds"
  private let deadline: ContinuousClock.Instant
  /// The output of systemd-creds, at most 1,536 bytes; empty if there is no key yet.
  private let credential: [UInt8]

  /// `nil` if the credential is too long.
  init?(data: [UInt8], until deadline: ContinuousClock.Instant) {
    guard data.count <= Self.longestCredential else { return nil }
    (credential, self.deadline) = (data, deadline)
  }

  /// Makes a random key of `count` bytes, encrypts it, and decrypts it again as a check.
  ///
  /// - Returns: the key, and the credential.
  func make(count: Int) throws(ProtectorFailure) -> (key: SecretBytes, data: [UInt8]) {
    try checkVersion()
    let key = SecretBytes.random(count: count)
    let made = try run("encrypt", key, atMost: Self.longestCredential)
    let data = made.withUnsafeBytes { Array($0) }
    guard !data.isEmpty, let slot = SystemdCredential(data: data, until: deadline),
      try slot.key(count: count).isEqual(to: key)
    else {
      throw ProtectorFailure(.failed, "systemd-creds did not encrypt the key", hint: "try again")
    }
    return (key, data)
  }

  /// Decrypts the key, `count` bytes.
  func key(count: Int) throws(ProtectorFailure) -> SecretBytes {
    try checkVersion()
    let input = credential.withUnsafeBytes { SecretBytes(copying: $0) }
    let key = try run("decrypt", input, atMost: count)
    guard key.count == count else {
      throw ProtectorFailure(
        .failed, "what systemd-creds decrypted is not a key of this program", hint: "remove the slot, and add it again")
    }
    return key
  }

  func find() throws(ProtectorFailure) { try checkVersion() }

  private func checkVersion() throws(ProtectorFailure) {
    let words = try run(["--version"], input: SecretBytes(count: 0) { _ in }, atMost: 4096).withUnsafeBytes {
      String(decoding: $0, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    }
    guard words.count > 1, words[0] == "systemd", let version = Int(words[1]) else { throw Self.absent }
    guard version >= Self.version else {
      throw ProtectorFailure(
        .noService, "systemd \(version) has no credentials of users",
        hint: "this slot needs systemd \(Self.version) or later")
    }
  }

  private static let absent = ProtectorFailure(
    .noService, "systemd-creds is not installed", hint: "this slot needs systemd \(version) or later")

  private func run(_ verb: String, _ input: SecretBytes, atMost limit: Int) throws(ProtectorFailure) -> SecretBytes {
    try run([verb, "--user", "--name=\(Self.name)", "-", "-"], input: input, atMost: limit)
  }

  /// Runs the program until it ends; if it is cancelled or takes too long, kills it.
  ///
  /// It does not outlive this process, however that ends.
  ///
  /// - Returns: its output; if that is longer than `limit`, the first `limit` + 1 bytes.
  /// - Throws: if the program cannot be started, or ends with another status than 0.
  private func run(
    _ arguments: [String], input: SecretBytes, atMost limit: Int
  ) throws(ProtectorFailure) -> SecretBytes {
    let given, got: (read: Int32, write: Int32)
    do throws(SystemNumber) {
      (given, got) = (try Descriptor.pipe(), try Descriptor.pipe())
    } catch {
      throw ProtectorFailure(.failed, "systemd-creds cannot be started: \(error)", hint: "end other programs")
    }
    defer { close(got.read) }
    let process: pid_t
    do {
      defer {
        close(given.read)
        close(got.write)
      }
      do throws(SystemNumber) {
        process = try Child.start(
          [program] + arguments, input: given.read, output: got.write, errorOutput: STDERR_FILENO, isBound: true)
      } catch {
        close(given.write)
        throw Self.absent
      }
    }
    // Does not block, because a pipe has room for the input.
    input.withUnsafeBytes { _ = Descriptor.write($0, to: given.write) }
    close(given.write)
    let output: SecretBytes
    do throws(ProtectorFailure) {
      output = try readAll(got.read, atMost: limit + 1)
      try awaitEnd(of: process)
    } catch {
      // It leads a session of its own, so this reaches what it started, too.
      kill(-process, SIGKILL)
      Child.reap(process)
      throw error
    }
    guard Child.reap(process) == 0 else {
      throw ProtectorFailure(
        .failed, "systemd-creds could not \(arguments[0]) the key, see above",
        hint: "if the slot is of another machine, remove it")
    }
    return output
  }

  private func readAll(_ descriptor: Int32, atMost limit: Int) throws(ProtectorFailure) -> SecretBytes {
    try withWipedBytes(count: limit) { buffer throws(ProtectorFailure) in
      var count = 0
      while count < limit {
        try wait(for: descriptor)
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
        let more = Glibc.read(descriptor, rest.baseAddress, rest.count)
        if more < 0, errno == EINTR { continue }
        guard more > 0 else { break }
        count += more
      }
      return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  private func awaitEnd(of process: pid_t) throws(ProtectorFailure) {
    // Readable once the process has ended; -1 before Linux 5.3.
    let descriptor = clinux_open_process(process)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    try wait(for: descriptor)
  }

  /// Waits until a descriptor is readable.
  ///
  /// - Throws: if standard input is closed first, because the program that sent the request has ended or cancelled it; or
  ///   if the time is over.
  private func wait(for descriptor: Int32) throws(ProtectorFailure) {
    while true {
      var descriptors = [descriptor, STDIN_FILENO].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let left = deadline - .now
      guard left > .zero else {
        throw ProtectorFailure(.failed, "systemd-creds did not answer in time", hint: "try again")
      }
      let count = poll(&descriptors, 2, Int32(clamping: left.components.seconds * 1000 + 1000))
      if count < 0, errno != EINTR { return }
      guard count > 0 else { continue }
      guard descriptors[0].revents == 0 else { return }
      throw ProtectorFailure(.failed, "it was cancelled")
    }
  }
}
