import CBOR
import DeterministicKeys

/// What a dApp can ask of a provider: ARC-27, Supported Methods.
public enum ARC27Method: String, CaseIterable, Sendable {
  /// Who answers here, which networks it knows, and what it can do on each.
  case discover
  /// Which accounts the dApp may know of.
  case enable
  /// That the dApp is done.
  case disable
  /// Signatures over transactions.
  case signTransactions = "sign_transactions"
  /// A signature over a text.
  case signMessage = "sign_message"
  /// Signed transactions to a network.
  case postTransactions = "post_transactions"
  /// Transactions, signed and to a network.
  case signAndPostTransactions = "sign_and_post_transactions"
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
