package import CBOR

// Requests of a browser on another computer, by hybrid transports (CTAP §11.5): command bytes 0x80 to 0x8F.

/// One CTAP2 message of such a browser: {1: message}.
///
/// The authenticator serves registrations, sign-ins and getInfo only, and always verifies the user itself. The program
/// that sends it has the keys of the transport, and no other right.
package struct PerformHybrid: ControlCommand {
  package static let code: UInt8 = 0x80

  /// Command byte and CBOR, 1 to ``ControlMessage/maximumCTAPSize`` bytes.
  package var message: [UInt8]

  package init(_ message: [UInt8]) { self.message = message }

  package init(_ members: CBORMap) throws(ControlFailure) {
    message = try decoded(members.requiredBytes(1))
    guard 1...ControlMessage.maximumCTAPSize ~= message.count else {
      throw ControlFailure(.invalidLength, "the CTAP2 message is empty or too long")
    }
  }

  package var members: CBORMap { [1: .bytes(message)] }

  /// {1: status byte and CBOR}.
  package struct Answer: ControlAnswer, Equatable {
    /// The answer of the authenticator, also if it refused.
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }
    package init(_ members: CBORMap) throws(ControlFailure) { bytes = try decoded(members.requiredBytes(1)) }
    package var members: CBORMap { [1: .bytes(bytes)] }
  }
}
