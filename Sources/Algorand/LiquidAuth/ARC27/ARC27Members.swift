import AlgorandTransaction
import CBOR
import CryptoPrimitives
import DeterministicKeys

/// A value of a request, and its place there: `params.txns[2].txn`.
struct ARC27Member {
  let value: LooseCBORValue
  let path: String

  /// The text.
  func text() throws(ARC27Error) -> String {
    guard let text = value.text else { throw fault("is not a text") }
    return text
  }

  /// The bytes of a text in base64 of either alphabet.
  func base64() throws(ARC27Error) -> [UInt8] {
    guard let bytes = Base64.decode(try text()) else { throw fault("is not base64") }
    return bytes
  }

  /// The address of an account.
  func address() throws(ARC27Error) -> AlgorandAddress {
    guard let address = AlgorandAddress(text: Array(try text().utf8)) else { throw fault("is not an address") }
    return address
  }

  /// The elements of an array.
  fileprivate func elements(atMost limit: Int) throws(ARC27Error) -> [ARC27Member] {
    guard let elements = value.array else { throw fault("is not a list") }
    guard elements.count <= limit else { throw fault("has \(elements.count) elements, of \(limit) at most") }
    return elements.enumerated().map { ARC27Member(value: $0.element, path: "\(path)[\($0.offset)]") }
  }

  func fault(_ reason: String) -> ARC27Error { .invalidInput("\(path) \(reason)") }
}

/// The members of a map of a request; JavaScript's `null` and `undefined` count as absent.
struct ARC27Members {
  let names: Set<LooseCBORName>
  private let members: [LooseCBORName: LooseCBORValue]
  private let path: String

  /// Takes a map; if it `isOptional`, an absent value is an empty map.
  init(_ value: LooseCBORValue, path: String, isOptional: Bool = false) throws(ARC27Error) {
    guard let members = value.map ?? (isOptional && value == .null ? [:] : nil) else {
      throw .invalidInput("\(path) is not a map")
    }
    self.members = members.filter { $0.value != .null }
    (names, self.path) = (Set(self.members.keys), path)
  }

  /// A member that may be absent.
  func member(_ name: LooseCBORName) -> ARC27Member? {
    members[name].map { ARC27Member(value: $0, path: "\(path).\(name.text)") }
  }

  /// Each element of an optional list, which has at most as many elements as a group has transactions.
  func list<Element>(
    _ name: LooseCBORName, _ read: (ARC27Member) throws(ARC27Error) -> Element
  ) throws(ARC27Error) -> [Element]? {
    guard let elements = try member(name)?.elements(atMost: TransactionGroup.maximumCount) else { return nil }
    var list: [Element] = []
    for element in elements { list.append(try read(element)) }
    return list
  }

  /// Unwraps the value of a required member.
  func required<Value>(_ name: String, _ value: Value?) throws(ARC27Error) -> Value {
    guard let value else { throw .invalidInput("\(path).\(name) is missing") }
    return value
  }

  /// The network of a request, 32 bytes; `nil` means the first network of the provider.
  func genesisHash() throws(ARC27Error) -> [UInt8]? {
    guard let member = member("genesisHash") else { return nil }
    let hash = try member.base64()
    guard hash.count == 32 else { throw member.fault("is not a block hash") }
    return hash
  }

  /// Refuses unknown members; ARC-1 leaves those that begin with `_` to wallets.
  func refuseOthers(than known: Set<LooseCBORName>) throws(ARC27Error) {
    guard names.subtracting(known).allSatisfy({ $0.text.utf8.first == UInt8(ascii: "_") }) else {
      throw .invalidInput(
        "\(path) has an unknown member; known are \(known.map(\.text).sorted().joined(separator: ", "))")
    }
  }
}
