/// The wire of the control socket: `SOCK_SEQPACKET`, one packet a message, one answer a request, in order.
///
/// A request is one command byte and a CTAP2 canonical CBOR map; an answer is one status byte and such a map. Where all
/// members are absent the map is absent too. CTAP2's own commands (below ``vendorCommands``) pass as they are, in both
/// directions, and reach the same authenticator as those of the USB side. The first request of a connection is ``Hello``.
///
/// A request that waits for a person is withdrawn by closing the connection.
package enum ControlMessage {
  /// The version of this wire, which both sides must speak: an older authenticator passes over members that are new to it,
  /// and would answer another question than the one that was asked.
  package static let version: UInt64 = 4

  /// The longest message in either direction, bytes; a longer packet ends the connection.
  ///
  /// It holds the transactions of the largest request of a dApp, and fits into a socket's buffer as Linux makes it (212 992).
  package static let maximumSize = 163_840

  /// The longest CTAP2 message, bytes: what CTAPHID can carry too, CTAP §11.2.4.
  package static let maximumCTAPSize = 7_609

  /// The command bytes of this page's own requests, within CTAP's vendor range 0x40–0xBF, CTAP §6.
  package static let vendorCommands: ClosedRange<UInt8> = 0x50...0x6F

  /// The longest passphrase, bytes, at every door: what one takes, all must take.
  package static let maximumPassphraseSize = 256

  /// The command byte of a request, CTAP2's or our own.
  ///
  /// - Throws: `invalidLength` for a request that is empty or too long.
  package static func command(of request: UnsafeRawBufferPointer) throws(ControlFailure) -> UInt8 {
    guard let code = request.first, request.count <= maximumSize else {
      throw ControlFailure(.invalidLength, "the request is empty or too long")
    }
    guard vendorCommands.contains(code) || request.count <= maximumCTAPSize else {
      throw ControlFailure(.invalidLength, "the CTAP2 message is longer than 7609 bytes")
    }
    return code
  }
}
