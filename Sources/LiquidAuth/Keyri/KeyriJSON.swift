import CryptoPrimitives
import FoundationEssentials

/// The JSON of Keyri's servers, one form for each value: members in order, slashes as they are.
enum KeyriJSON {
  static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { fatalError("texts and booleans are always JSON") }
    return Array(data)
  }

  /// Reads an answer; a member that is missing or of another type is named in ``KeyriError/malformed(_:)``.
  static func decode<T: Decodable>(_ type: T.Type, from body: [UInt8]) throws(KeyriError) -> T {
    do {
      return try JSONDecoder().decode(type, from: Data(body))
    } catch let DecodingError.keyNotFound(key, _) {
      throw .malformed(key.stringValue)
    } catch let DecodingError.typeMismatch(_, context), let DecodingError.valueNotFound(_, context) {
      throw .malformed(context.codingPath.last?.stringValue ?? "no object")
    } catch {
      throw .malformed("no JSON")
    }
  }
}

extension [UInt8] {
  /// base64 of RFC 4648 §4, padded, as all of Keyri's binary members are.
  var keyriText: String { Data(self).base64EncodedString() }

  /// Reads the same; `nil` for any other alphabet, white space, or missing padding.
  init?(keyriText: String) {
    guard let data = Data(base64Encoded: keyriText) else { return nil }
    self = Array(data)
  }
}

/// Signs that an answer is a refusal, whatever its status says.
///
/// Servers write them in several ways: `error` (anything but null, false and the empty text), `errors: true`, and
/// `statusCode` or `status` from 400 on.
struct KeyriFault: Decodable {
  /// Whether one of the signs is there.
  let isThere: Bool
  /// What the server says about it.
  let reason: String?

  private enum CodingKeys: String, CodingKey {
    case error, errors, errorMsg, message, status, statusCode
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    func text(_ key: CodingKeys) -> String? {
      (try? members.decode(String.self, forKey: key)).flatMap { $0.isEmpty ? nil : $0 }
    }
    func says(_ key: CodingKeys) -> Bool {
      guard members.contains(key), (try? members.decodeNil(forKey: key)) == false else { return false }
      return (try? members.decode(Bool.self, forKey: key)) ?? ((try? members.decode(String.self, forKey: key)) != "")
    }
    let codes = [CodingKeys.status, .statusCode].compactMap { try? members.decode(Int.self, forKey: $0) }
    isThere = says(.error) || says(.errors) || codes.contains { $0 >= 400 }
    reason = text(.message) ?? text(.errorMsg) ?? text(.error)
  }
}
