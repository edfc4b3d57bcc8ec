import DisplayText
import LiquidAuth

/// A JSON value (RFC 8259) that a program reads from standard output.
///
/// Members keep the order in which they are written, so that output is the same from run to run.
enum JSON: Equatable, Sendable {
  case null
  case bool(Bool)
  case number(Int64)
  case string(String)
  case array([JSON])
  case object([Member])

  /// A name and its value.
  struct Member: Equatable, Sendable {
    let name: String
    let value: JSON
  }

  /// A text, or `null`.
  init(_ text: String?) { self = text.map(JSON.string) ?? .null }

  /// Bytes as lower-case hexadecimal digits.
  static func hex(_ bytes: [UInt8]) -> JSON { .string(bytes.hexadecimal) }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
  init(dictionaryLiteral members: (String, JSON)...) {
    self = .object(members.map { Member(name: $0.0, value: $0.1) })
  }

  init(arrayLiteral elements: JSON...) { self = .array(elements) }
}

extension JSON: CustomStringConvertible {
  /// The value's text: two spaces of indentation, empty arrays and objects on one line.
  var description: String { text(indentation: "") }

  /// The value's text on one line.
  var line: String { text(indentation: nil) }

  /// - Parameter indentation: that of the line on which the value begins; `nil` for one line.
  private func text(indentation: String?) -> String {
    let inner = indentation.map { $0 + "  " }
    return switch self {
    case .null: "null"
    case .bool(let truth): truth ? "true" : "false"
    case .number(let number): String(number)
    case .string(let text): DisplayText.json(text)
    case .array(let elements): Self.enclosed("[", elements.map { $0.text(indentation: inner) }, "]", indentation)
    case .object(let members):
      Self.enclosed(
        "{", members.map { "\(DisplayText.json($0.name)): \($0.value.text(indentation: inner))" }, "}", indentation)
    }
  }

  private static func enclosed(_ open: String, _ items: [String], _ close: String, _ indentation: String?) -> String {
    guard !items.isEmpty else { return open + close }
    guard let indentation else { return open + items.joined(separator: ", ") + close }
    let separator = "\n\(indentation)  "
    return open + separator + items.joined(separator: "," + separator) + "\n" + indentation + close
  }
}
