import CBOR
import DeterministicKeys

/// What stands around every request: who it is, and what is asked.
///
/// ARC-27, Request Message Schema. An answer needs both: it names the request by its id, and repeats the method. Where one of them cannot be read there is
/// no answer; whatever is wrong beyond them is answered with 4200 or 4003.
struct ARC27Envelope {
  /// The id, to be given back as it came: the standard wants a UUIDv4, Liquid Auth's dApps draw UUIDv7.
  let id: String
  /// The method's name, known to us or not.
  let method: String
  /// The member `params`, of whatever kind.
  let params: LooseCBORValue

  /// The longest id that is given back; a UUID has 36 bytes.
  private static let maximumIDSize = 128

  init(_ message: [String: LooseCBORValue]) throws(UnansweredFrame) {
    guard let id = message["id"]?.text, (1...Self.maximumIDSize).contains(id.utf8.count) else {
      throw .noRequest("it has no id of 1 to \(Self.maximumIDSize) bytes")
    }
    guard let text = message["reference"]?.text, let reference = ARC27Reference(text) else {
      throw .noRequest("its reference is not one of ARC-27")
    }
    guard reference.kind == .request else { throw .response }
    (self.id, method, params) = (id, reference.method, message["params"] ?? .null)
  }
}

/// A request, read to its last member.
///
/// ARC-27, Param Definitions. `providerId` is passed over: the standard lets the providers of a page be told apart by it, and here each channel has
/// one. Liquid Auth's dApps send a constant that is nobody's.
enum ARC27Request: Equatable {
  case discover
  case enable(genesisHash: [UInt8]?)
  case disable(genesisHash: [UInt8]?, sessionIDs: [String])
  case signTransactions([WalletTransaction])
  case signMessage(String, signer: AlgorandAddress?)
  case postTransactions([[UInt8]])
  case signAndPostTransactions([WalletTransaction])

  /// - Throws: ``ARC27Error/invalidInput(_:)`` that names the member.
  init(_ method: ARC27Method, params: LooseCBORValue) throws(ARC27Error) {
    let params = try ARC27Members(params, path: "params", isOptional: !method.needsParams)
    switch method {
    case .discover: self = .discover
    case .enable: self = .enable(genesisHash: try params.genesisHash())
    case .disable:
      self = .disable(
        genesisHash: try params.genesisHash(),
        sessionIDs: try params.list("sessionIds") { member throws(ARC27Error) in try member.text() } ?? [])
    case .signTransactions: self = .signTransactions(try WalletTransaction.list(params))
    case .signAndPostTransactions: self = .signAndPostTransactions(try WalletTransaction.list(params))
    case .postTransactions:
      self = .postTransactions(
        try params.required("stxns", params.list("stxns") { member throws(ARC27Error) in try member.base64() }))
    case .signMessage:
      // ARC-60 has a request of the same name, over other bytes.
      guard params.names.contains("message") || !params.names.contains("data") else {
        throw .invalidInput(
          "params.data: sign_message is that of ARC-27, with a text in message; ARC-60's is not supported")
      }
      self = .signMessage(
        try params.required("message", params.member("message")?.text()), signer: try params.member("signer")?.address()
      )
    }
  }
}

extension ARC27Method {
  fileprivate var needsParams: Bool {
    switch self {
    case .discover, .enable, .disable: false
    case .signTransactions, .signMessage, .postTransactions, .signAndPostTransactions: true
    }
  }
}
