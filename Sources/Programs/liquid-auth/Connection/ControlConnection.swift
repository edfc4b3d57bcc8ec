import CBOR
import ControlClient
import ControlProtocol
import CryptoPrimitives
import ProcessIO
import StateDirectory

/// A connection to the running authenticator; its errors are the command's failures.
struct ControlConnection {
  private let client: ControlClient

  /// Connects, and agrees on the version.
  ///
  /// - Parameters:
  ///   - timeout: how long to wait for an authenticator that does not listen yet.
  ///   - onWait: called once with its process, if it does not listen within a second.
  /// - Throws: `notRunning` if no authenticator runs in the place.
  static func open(
    _ path: String, in place: CommandPlace, timeout: Duration, onWait: (Int32) -> Void
  ) throws(CommandFailure) -> ControlConnection {
    let client = ControlClient(path) {
      StandardStream.error.write(
        "liquid-auth: the authenticator is waiting for your answer, in its window or on its terminal")
    }
    do { try client.connect(in: place, timeout: timeout, onWait: onWait) } catch { throw CommandFailure(error) }
    return ControlConnection(client: client)
  }

  /// Sends a command and waits for the answer, without a time limit if it may wait for a person or a key derivation.
  @discardableResult
  func ask<Command: ControlCommand>(_ command: Command) throws(CommandFailure) -> Command.Answer {
    do { return try request(command) } catch { throw CommandFailure(error) }
  }

  /// Does the same as ``ask(_:)``; its error tells a refusal of the authenticator from a connection that broke.
  func request<Command: ControlCommand>(_ command: Command) throws(ControlClientError) -> Command.Answer {
    try client.ask(command)
  }

  /// As in ``ControlClient``: the members for a command whose answer is awaited with poll(2).
  var descriptor: Int32 { client.descriptor }
  func send<Command: ControlCommand>(_ command: Command) throws(ControlClientError) { try client.send(command) }
  func finish<Command: ControlCommand>(_ command: Command.Type) throws(ControlClientError) -> Command.Answer {
    try client.finish(command)
  }

  /// Sends a CTAP2 message and returns the map of the answer.
  func ctap(_ command: UInt8, _ members: CBORMap = [:]) throws(CommandFailure) -> CBORMap {
    let message = [command] + (members.isEmpty ? [] : CBOREncoder.encode(.map(members)))
    let packet: [UInt8]
    do { packet = try client.forward(message) } catch { throw CommandFailure(error) }
    do { return try CTAPAnswer(decoding: packet).members } catch { throw CommandFailure(error) }
  }
}

extension ControlConnection {
  /// Sends the vault's passphrase, so that this connection may read and change credentials; returns the passphrase.
  ///
  /// - Parameter next: as in ``PassphraseInput/tried(thenReading:_:)``.
  @discardableResult
  func unlock(
    thenReading next: (SecretBytes) throws(CommandFailure) -> Void = { _ in }
  ) throws(CommandFailure) -> SecretBytes {
    try PassphraseInput.tried(thenReading: next) { (passphrase) throws(CommandFailure) in
      try ask(Unlock(passphrase))
      return passphrase
    }
  }

  /// Sends a command that accepts a ticket; asks for the passphrase if this terminal has no ticket.
  ///
  /// A passphrase in standard input is always verified, so that a script has the same result in every terminal.
  func readByTicket<Result>(_ read: () throws(CommandFailure) -> Result) throws(CommandFailure) -> Result {
    if PassphraseInput.isTyped {
      do throws(CommandFailure) { return try read() } catch  where error.code == .passphrase {}
    }
    try unlock()
    return try read()
  }
}

extension ControlConnection {
  /// Gets the key's information, without a prompt; does not wait for other requests.
  func keyInformation() throws(CommandFailure) -> KeyInformation { KeyInformation(try ctap(0x04)) }

  /// The key's information, if the vault is open; `nil` otherwise.
  ///
  /// While the vault is locked, the settings come from an unencrypted copy (Recovery §1), which another program could
  /// have changed. A command that refused because of this copy could hide, for example, that a PIN is set. With the
  /// passphrase, a store whose copy differs does not open.
  func certainInformation() throws(CommandFailure) -> KeyInformation? {
    // In this order: if the vault is locked in between, getInfo still reports the settings that it had.
    guard try ask(GetStatus()).vault.condition == .unlocked else { return nil }
    return try keyInformation()
  }

  /// Throws if it is certain that no PIN is set.
  func checkPIN() throws(CommandFailure) {
    if try certainInformation()?.isPINSet == false { throw CommandFailure("no PIN is set") }
  }

  /// Gets the tries that are left, without a prompt; does not wait for other requests.
  func triesLeft(_ information: KeyInformation) throws(CommandFailure) -> TriesLeft {
    try TriesLeft(pin: ctap(0x06, [2: 1]), verification: information.canVerify ? ctap(0x06, [2: 7]) : nil)
  }
}

/// The answer to a CTAP2 message, which has the form of a control answer.
private struct CTAPAnswer: ControlAnswer {
  let members: CBORMap
  init(_ members: CBORMap) { self.members = members }
}
