import CBOR
import ControlClient
import ControlProtocol
import ProcessIO

/// A connection to the authenticator that runs, in the command's own words.
struct ControlConnection {
  private let client: ControlClient

  /// Connects, and agrees on the version.
  ///
  /// - Throws: `notRunning` when nobody listens there.
  static func open(_ path: String) throws(CommandFailure) -> ControlConnection {
    do {
      return ControlConnection(
        client: try ControlClient.open(path) {
          StandardStream.error.write("liquid-auth: waiting until the open prompt is answered")
        })
    } catch {
      throw CommandFailure(error)
    }
  }

  /// Asks, and waits for the answer: as long as it takes where a person or a key derivation is waited for.
  @discardableResult
  func ask<Command: ControlCommand>(_ command: Command) throws(CommandFailure) -> Command.Answer {
    do { return try client.ask(command) } catch { throw CommandFailure(error) }
  }

  /// Sends a CTAP2 message, and reads the map that answers it.
  func ctap(_ command: UInt8, _ members: CBORMap = [:]) throws(CommandFailure) -> CBORMap {
    let message = [command] + (members.isEmpty ? [] : CBOREncoder.encode(.map(members)))
    let packet: [UInt8]
    do { packet = try client.forward(message) } catch { throw CommandFailure(error) }
    do { return try CTAPAnswer(decoding: packet).members } catch { throw CommandFailure(error) }
  }
}

/// The answer to a CTAP2 message, which has the form of our own.
private struct CTAPAnswer: ControlAnswer {
  let members: CBORMap
  init(_ members: CBORMap) { self.members = members }
}
