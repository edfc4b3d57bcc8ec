import CBOR
package import CryptoPrimitives

/// Seals or opens the messages of one direction, CTAP §11.5.1.4: AES-256-GCM with a counter, and padding.
package struct FrameCipher: Sendable {
  /// The last counter that may be used: 2^24 − 1.
  private static let lastCounter: UInt32 = 0xFF_FFFF
  /// The size of a padded message is a multiple of this, in bytes.
  private static let paddedTo = 32

  private let key: SecretBytes
  private var counter: UInt32

  /// - Parameter key: 32 bytes.
  package init(_ key: SecretBytes, counter: UInt32 = 0) { (self.key, self.counter) = (key, counter) }

  /// Pads and seals the next message.
  ///
  /// - Throws: ``HybridError/frame`` after 2^24 messages.
  package mutating func seal(_ message: [UInt8]) throws(HybridError) -> [UInt8] {
    let zeros = Self.paddedTo - 1 - message.count % Self.paddedTo
    let padded = message + [UInt8](repeating: 0, count: zeros) + [UInt8(zeros)]
    return try next { key, nonce throws(CryptoError) in try AESGCM.seal(padded, key: key, nonce: nonce, ad: []) }
  }

  /// Opens the next message, and removes its padding: any number of zeros, because libwebauthn pads before its first byte.
  ///
  /// - Throws: ``HybridError/frame`` for one that does not open, or has no valid padding.
  package mutating func open(_ frame: [UInt8]) throws(HybridError) -> [UInt8] {
    let padded = try next { key, nonce throws(CryptoError) in try AESGCM.open(frame, key: key, nonce: nonce, ad: []) }
    guard let zeros = padded.last, Int(zeros) < padded.count else { throw .frame }
    return Array(padded.dropLast(Int(zeros) + 1))
  }

  private mutating func next(
    _ body: (_ key: SecretBytes, _ nonce: [UInt8]) throws(CryptoError) -> [UInt8]
  ) throws(HybridError) -> [UInt8] {
    guard counter <= Self.lastCounter else { throw .frame }
    let nonce = [UInt8](repeating: 0, count: 8) + (0..<4).map { UInt8(truncatingIfNeeded: counter >> (24 - 8 * $0)) }
    do throws(CryptoError) {
      let result = try body(key, nonce)
      counter += 1
      return result
    } catch {
      throw .frame
    }
  }
}

/// What the browser sends after the handshake: a type, then its content.
enum ClientMessage: Equatable, Sendable {
  /// The end of the exchange.
  case shutdown
  /// A request for the authenticator: a command, then CBOR.
  case ctap([UInt8])
  /// An update with linking information; linking is not supported.
  case update

  /// - Throws: ``HybridError/message`` for another type, and for one without its content.
  init(_ bytes: [UInt8]) throws(HybridError) {
    let content = Array(bytes.dropFirst())
    switch bytes.first {
    case 0: self = .shutdown
    case 1 where !content.isEmpty: self = .ctap(content)
    case 2 where (try? CBORDecoder.decode(content)) != nil: self = .update
    default: throw .message
    }
  }
}

/// What the authenticator sends after the handshake.
enum AuthenticatorMessage {
  /// The first message, without a type: the answer of getInfo without its status, and the supported protocol, CTAP.
  static func first(getInfo: [UInt8]) -> [UInt8] {
    CBOREncoder.encode(.map([1: .bytes(getInfo), 3: ["ctap"]]))
  }

  /// An answer of the authenticator: a status, then CBOR.
  static func answer(_ bytes: [UInt8]) -> [UInt8] { [1] + bytes }
}
