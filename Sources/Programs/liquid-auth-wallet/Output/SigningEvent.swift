import DisplayText

/// The progress of signatures that the dApp or `rekey` requests.
enum SigningEvent: Equatable {
  /// This many of a list of transactions are to be signed; the authenticator shows a prompt if it can read them.
  case transactions(Int, of: Int)
  /// A message is to be signed, in the same way.
  case message
  /// Transactions were signed; their ids.
  case signedTransactions([String])
  /// A message was signed.
  case signedMessage
  /// Networks accepted these transactions; their ids.
  case posted([String])
}

extension SigningEvent {
  /// One sentence, then one id per line.
  var text: String {
    switch self {
    case .transactions(let count, let all):
      "\(count == all ? "" : "\(count) of ")\(Self.counted(all)) \(count == 1 ? "is" : "are") to be signed"
    case .message: "a message is to be signed"
    case .signedTransactions(let ids): (["signed \(Self.counted(ids.count)):"] + ids).joined(separator: "\n")
    case .signedMessage: "signed a message"
    case .posted(let ids): (["posted \(Self.counted(ids.count)):"] + ids).joined(separator: "\n")
    }
  }

  private static func counted(_ count: Int) -> String { count == 1 ? "1 transaction" : "\(count) transactions" }

  /// The name of the event.
  var name: String {
    switch self {
    case .transactions, .message: "signing"
    case .signedTransactions, .signedMessage: "signed"
    case .posted: "posted"
    }
  }

  /// The members: names and JSON values.
  var members: [(String, String)] {
    switch self {
    case .transactions(let count, let all):
      [("what", DisplayText.json("transactions")), ("count", String(count)), ("of", String(all))]
    case .message: [("what", DisplayText.json("message")), ("count", "1"), ("of", "1")]
    case .signedTransactions(let ids): [("what", DisplayText.json("transactions")), ("ids", Self.list(ids))]
    case .signedMessage: [("what", DisplayText.json("message")), ("ids", "[]")]
    case .posted(let ids): [("ids", Self.list(ids))]
    }
  }

  private static func list(_ texts: [String]) -> String {
    "[" + texts.map(DisplayText.json).joined(separator: ", ") + "]"
  }
}
