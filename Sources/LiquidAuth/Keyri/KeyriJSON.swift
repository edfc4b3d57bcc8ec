/// The JSON of Keyri's servers.
enum KeyriJSON {
  /// Writes what can always be written: members that are texts and booleans.
  static func encode(_ value: some Encodable) -> [UInt8] {
    guard let json = try? JSON.encode(value) else { fatalError("texts and booleans are always JSON") }
    return json
  }

  /// Reads an answer; a member that is missing or of another type is named in ``KeyriError/malformed(_:)``.
  static func decode<T: Decodable>(_ type: T.Type, from body: [UInt8]) throws(KeyriError) -> T {
    do throws(JSONError) {
      return try JSON.decode(type, from: body)
    } catch {
      switch error {
      case .missing(let member), .otherKind(let member), .invalid(let member): throw .malformed(member)
      case .noJSON, .tooDeep, .repeatedName, .unwritable: throw .malformed(error.description)
      }
    }
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
