import CBOR
import CryptoPrimitives

/// One message of the data channel: a CBOR map, in base64url in a text message, or bare in a binary message.
///
/// ARC-27 leaves the form to its users; Liquid Auth's dApps send texts. They write base64url without padding, and
/// cbor-x's maps. The decoder also accepts the alphabet of plain base64, padding and any other definite CBOR.
enum ARC27Frame {
  /// The most bytes of CBOR in a frame, which dApps observe too.
  static let maximumMessageSize = 255_000
  /// The length of those bytes in base64url; 255 000 is a multiple of 3, so there is no padding.
  static let maximumSize = maximumMessageSize / 3 * 4

  /// Writes a frame.
  static func encode(_ message: LooseCBORValue) -> String { Base64URL.encode(LooseCBOREncoder.encode(message)) }

  /// Writes an answer in the form of the request, text or binary.
  static func encode(_ message: LooseCBORValue, answering request: PeerMessage) -> PeerMessage {
    switch request {
    case .text: .text(encode(message))
    case .binary: .binary(LooseCBOREncoder.encode(message))
    }
  }

  /// Reads the map in a message.
  static func decode(_ message: PeerMessage) throws(UnansweredFrame) -> [LooseCBORName: LooseCBORValue] {
    switch message {
    case .text(let frame): return try decode(frame)
    case .binary(let bytes):
      guard bytes.count <= maximumMessageSize else { throw .tooManyBytes(bytes.count) }
      return try map(in: bytes)
    }
  }

  /// Reads the map in a text.
  private static func decode(_ frame: String) throws(UnansweredFrame) -> [LooseCBORName: LooseCBORValue] {
    guard frame.utf8.count <= maximumSize else { throw .tooLong(frame.utf8.count) }
    if frame.isSame(as: "ping") { throw .ping }
    if let json = UnansweredFrame(json: frame.utf8) { throw json }
    guard let bytes = Base64.decode(frame) else { throw .notBase64 }
    return try map(in: bytes)
  }

  private static func map(in bytes: [UInt8]) throws(UnansweredFrame) -> [LooseCBORName: LooseCBORValue] {
    if let json = UnansweredFrame(json: bytes) { throw json }
    do throws(CBORError) {
      let value = try LooseCBORDecoder.decode(bytes, maximumSize: maximumMessageSize)
      guard let members = value.map else { throw .unexpectedType("it is not a map") }
      return members
    } catch {
      throw .notCBOR("\(error)")
    }
  }
}

extension PeerChannel {
  /// Whether a message is an incomplete frame of ARC-27: CBOR that is cut off, in base64 in a text.
  public static func isUnfinishedFrame(_ message: PeerMessage) -> Bool {
    switch message {
    case .text(let text): isUnfinishedFrame(text)
    case .binary(let bytes): LooseCBORDecoder.isCutOff(bytes)
    }
  }

  /// Whether a message is a complete frame of ARC-27: a CBOR map, in base64 in a text.
  public static func isFrame(_ message: PeerMessage) -> Bool {
    do throws(UnansweredFrame) {
      _ = try ARC27Frame.decode(message)
      return true
    } catch {
      return false
    }
  }

  private static func isUnfinishedFrame(_ text: String) -> Bool {
    if let bytes = Base64.decode(text), !LooseCBORDecoder.isCutOff(bytes) { return false }
    // Four characters encode three bytes; up to three wait for the rest.
    let digits = text.utf8.prefix(text.utf8.count / 4 * 4)
    return Base64.decode(String(Substring(digits))).map(LooseCBORDecoder.isCutOff) ?? false
  }
}

/// A frame without an answer, because no answer could name it.
///
/// The user is informed.
public enum UnansweredFrame: Error, Equatable, Sendable {
  /// The word `ping`, which Liquid Auth's own wallets send to keep a channel open.
  case ping
  /// More characters than a request may have.
  case tooLong(Int)
  /// More bytes of CBOR than a request may have.
  case tooManyBytes(Int)
  /// A transaction in the JSON of the first demo, which has neither ids nor a way to refuse.
  case legacyTransaction
  /// Other JSON, bare or in base64url.
  case json
  /// Neither base64url nor base64.
  case notBase64
  /// Not the CBOR of a map; why.
  case notCBOR(String)
  /// A map that is not a request of ARC-27: the id or the reference is missing.
  case noRequest(String)
  /// A response, although this wallet sends no requests.
  case response
}

extension UnansweredFrame {
  /// Recognizes JSON by its first character; neither a CBOR map nor its base64 begins with it.
  fileprivate init?(json text: some Collection<UInt8>) {
    guard text.first == UInt8(ascii: "{") || text.first == UInt8(ascii: "[") else { return nil }
    let typed = try? JSONCoding.decode(TypedJSON.self, from: text)
    self = typed?.type.isSame(as: "transaction") == true ? .legacyTransaction : .json
  }
}

/// The member `type` of the first demo's JSON.
private struct TypedJSON: Decodable {
  let type: String
}

extension UnansweredFrame: CustomStringConvertible {
  /// The kind of frame, without its content.
  public var description: String {
    switch self {
    case .ping: "a ping"
    case .tooLong(let count):
      "a message of \(count) characters, of \(ARC27Frame.maximumSize) at most; it was ignored"
    case .tooManyBytes(let count):
      "a message of \(count) bytes, of \(ARC27Frame.maximumMessageSize) at most; it was ignored"
    case .legacyTransaction:
      "a transaction in the JSON of early demos, which cannot be refused; it was ignored, and nothing was signed"
    case .json: "a message in JSON, where only ARC-27 in CBOR is supported; it was ignored"
    case .notBase64: "a message that is not base64url; it was ignored"
    case .notCBOR(let reason): "a message that is not ARC-27 (\(reason)); it was ignored"
    case .noRequest(let reason): "a message that is not an ARC-27 request (\(reason)); it was ignored"
    case .response: "an answer without a request; it was ignored"
    }
  }
}
