/// The id of a dApp's request; the server notifies the dApp when that request has been answered.
///
/// Today's dApps use a UUID. Those of 2024 used a JSON number, and their server compares strictly: `1` and `"1"`
/// differ. A link does not show the type, so a text that is the printed form of a JSON number is sent as a number.
public struct RequestID: Hashable, Sendable, CustomStringConvertible {
  /// The most bytes of the text: the limit of `liquid` (Recovery §11).
  public static let maximumSize = 128

  /// The text as in the link.
  public let text: String

  /// Takes 1 to 128 bytes of text without control characters; `nil` for anything else.
  public init?(_ text: String) {
    guard (1...Self.maximumSize).contains(text.utf8.count), !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else { return nil }
    self.text = text
  }

  /// As ``text``.
  public var description: String { text }

  /// The number whose canonical form is the text; `nil` if there is none.
  public var number: Double? {
    guard let number = Double(text), number.isFinite, number.ecmaScriptText == text else { return nil }
    return number
  }
}

extension RequestID: Codable {
  /// Reads a JSON string, or a number.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text: String
    if let number = try? container.decode(Double.self) {
      text = number.ecmaScriptText
    } else {
      text = try container.decode(String.self)
    }
    guard let requestID = RequestID(text) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no request id")
    }
    self = requestID
  }

  /// Writes a number if the text is the canonical form of one, otherwise a string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let number { try container.encode(number) } else { try container.encode(text) }
  }
}

extension Double {
  /// The text of a finite number in ECMAScript and in its JSON: ECMA-262, Number::toString.
  ///
  /// Swift also prints the shortest digits that identify the number; only the place of the point and the use of an
  /// exponent differ.
  var ecmaScriptText: String {
    if self == 0 { return "0" }
    let (digits, exponent) = shortestDigits
    let sign = self < 0 ? "-" : ""
    let (count, point) = (digits.count, exponent + 1)
    switch point {
    case count...21: return sign + digits + String(repeating: "0", count: point - count)
    case 1...21: return sign + digits.prefix(point) + "." + digits.dropFirst(point)
    case -5...0: return sign + "0." + String(repeating: "0", count: -point) + digits
    default:
      let fraction = count > 1 ? "." + digits.dropFirst() : ""
      return sign + digits.prefix(1) + fraction + "e" + (exponent < 0 ? "-" : "+") + "\(exponent.magnitude)"
    }
  }

  /// d₁d₂… and e, so that the magnitude is d₁.d₂… · 10^e; no zero at either end of the digits.
  private var shortestDigits: (digits: String, exponent: Int) {
    let parts = "\(magnitude)".split(separator: "e")
    let mantissa = parts[0].split(separator: ".")
    let (whole, fraction) = (mantissa[0], mantissa.count > 1 ? mantissa[1] : "")
    let all = whole + fraction
    let significant = all.drop { $0 == "0" }
    let exponent = whole.count - 1 - (all.count - significant.count) + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
    return (String(significant.reversed().drop { $0 == "0" }.reversed()), exponent)
  }
}
