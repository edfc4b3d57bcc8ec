/// Walks the heads of an encoding and refuses what the profile does not allow, before libcbor reads it.
///
/// libcbor's decoder checks well-formedness only, does not report the width of a length, and reserves memory for as
/// many elements as a head declares (16 bytes a pair, so five bytes can request gigabytes). Here every declared size is
/// compared with the bytes that are left, so libcbor then allocates a small multiple of the input.
///
/// The decoders check the rest on the values: the order of keys, duplicate keys, and that texts are UTF-8.
struct EncodingWalk {
  /// The allowed form of an encoding.
  enum Form {
    /// CTAP2's: shortest heads, and only the kinds of ``CBORValue``. CTAP §8.
    case canonical
    /// Heads of any width, and the kinds of ``LooseCBORValue``.
    case loose
  }

  private let bytes: [UInt8]
  private let form: Form
  private let end: Int
  private(set) var offset: Int
  private var isCutOff = false

  /// Checks that the bytes are one item of the form: definite lengths, no tags, no trailing bytes.
  ///
  /// `maximumDepth` counts open arrays and maps.
  static func check(_ bytes: [UInt8], form: Form, maximumDepth: Int) throws(CBORError) {
    var walk = EncodingWalk(bytes, form)
    try walk.item(maximumDepth: maximumDepth)
    guard walk.offset == bytes.count else { throw .invalid("trailing bytes from byte \(walk.offset) on") }
  }

  /// Whether the bytes are an incomplete prefix of one item.
  static func isCutOff(_ bytes: [UInt8], form: Form, maximumDepth: Int) -> Bool {
    var walk = EncodingWalk(bytes, form)
    try? walk.item(maximumDepth: maximumDepth)
    return walk.isCutOff
  }

  /// Begins at `offset`; nothing from `end` on is read.
  init(_ bytes: [UInt8], _ form: Form, from offset: Int = 0, to end: Int? = nil) {
    (self.bytes, self.form, self.offset, self.end) = (bytes, form, offset, end ?? bytes.count)
  }

  private var left: UInt64 { UInt64(end - offset) }

  /// Walks one item with all that it contains.
  ///
  /// Iterative, so that the depth of hostile input cannot exhaust the stack.
  private mutating func item(maximumDepth: Int) throws(CBORError) {
    // The number of items still to come: at the top level, then in each open array and map. A map of n pairs is 2n
    // items.
    var toCome: [UInt64] = []
    toCome.reserveCapacity(1 + maximumDepth)
    toCome.append(1)
    while let count = toCome.last {
      guard count > 0 else {
        toCome.removeLast()
        continue
      }
      toCome[toCome.count - 1] -= 1
      let start = offset
      let (majorType, argument) = try next()
      if majorType == 4 || majorType == 5 {
        let itemsEach: UInt64 = majorType == 4 ? 1 : 2
        guard toCome.count <= maximumDepth else {
          throw .invalid("arrays and maps are nested deeper than \(maximumDepth) levels at byte \(start)")
        }
        toCome.append(argument * itemsEach)
      }
    }
  }

  /// Walks one number, string or boolean, or the head of an array or map.
  mutating func next() throws(CBORError) -> (majorType: UInt8, argument: UInt64) {
    let start = offset
    let (majorType, argument) = try head()
    switch majorType {
    case 2, 3:
      guard argument <= left else { throw cutOff("the string at byte \(start) is cut off") }
      offset += Int(argument)
    case 4, 5:
      guard argument <= left / (majorType == 4 ? 1 : 2) else {
        throw cutOff("the array or map at byte \(start) is cut off")
      }
    default: break
    }
    return (majorType, argument)
  }

  private mutating func cutOff(_ reason: String) -> CBORError {
    isCutOff = true
    return .invalid(reason)
  }

  /// Reads a first byte and its argument, RFC 8949 §3.
  private mutating func head() throws(CBORError) -> (majorType: UInt8, argument: UInt64) {
    let start = offset
    guard left >= 1 else { throw cutOff("cut off at byte \(start)") }
    let (majorType, information) = (bytes[start] >> 5, bytes[start] & 0x1f)
    offset += 1
    guard majorType != 6 else { throw .invalid("tag at byte \(start)") }
    guard majorType != 7 || isKnownSimple(information) else { throw .invalid(unknownSimple(at: start)) }
    guard information >= 24 else { return (majorType, UInt64(information)) }
    guard information <= 27 else { throw .invalid("indefinite length or reserved value at byte \(start)") }

    let width = 1 << Int(information - 24)
    guard left >= width else { throw cutOff("cut off at byte \(end)") }
    let argument = bytes[offset..<offset + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    offset += width
    if form == .loose { return (majorType, argument) }
    let shorterHolds: UInt64 = width == 1 ? 23 : (1 << UInt64(width * 4)) - 1
    guard argument > shorterHolds else { throw .invalid("number or length longer than needed at byte \(start)") }
    return (majorType, argument)
  }

  /// `false` and `true`; and, in the loose form, `null`, `undefined` and the three widths of a floating-point number.
  private func isKnownSimple(_ information: UInt8) -> Bool {
    switch information {
    case 20, 21: true
    case 22, 23, 25, 26, 27: form == .loose
    default: false
    }
  }

  private func unknownSimple(at start: Int) -> String {
    switch form {
    case .canonical: "neither false nor true at byte \(start)"
    case .loose: "unassigned simple value at byte \(start)"
    }
  }
}
