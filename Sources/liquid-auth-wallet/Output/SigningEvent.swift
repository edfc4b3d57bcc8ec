import LiquidAuth

/// What becomes of signatures that the dApp asks for.
enum SigningEvent: Equatable {
  /// So many of a list of transactions are to be signed: the authenticator is given them, and asks if it can read them.
  case transactions(Int, of: Int)
  /// A message is to be signed, likewise.
  case message
  /// Transactions were signed; their ids.
  case signedTransactions([String])
  /// A message was signed.
  case signedMessage
  /// Their networks took these transactions; their ids.
  case posted([String])
}

// MARK: - For people

extension SigningEvent {
  /// One sentence, and an id a line.
  var text: String {
    switch self {
    case .transactions(let count, let all):
      "the dApp wants \(count == all ? "" : "\(count) of ")\(Self.counted(all)) signed"
    case .message: "the dApp wants a message signed"
    case .signedTransactions(let ids): (["signed \(Self.counted(ids.count)):"] + ids).joined(separator: "\n")
    case .signedMessage: "signed a message"
    case .posted(let ids): (["posted \(Self.counted(ids.count)):"] + ids).joined(separator: "\n")
    }
  }

  private static func counted(_ count: Int) -> String { count == 1 ? "1 transaction" : "\(count) transactions" }
}

// MARK: - For programs

extension SigningEvent {
  /// What it is called.
  var name: String {
    switch self {
    case .transactions, .message: "signing"
    case .signedTransactions, .signedMessage: "signed"
    case .posted: "posted"
    }
  }

  /// Names and JSON values.
  var members: [(String, String)] {
    switch self {
    case .transactions(let count, let all):
      [("what", TerminalText.json("transactions")), ("count", String(count)), ("of", String(all))]
    case .message: [("what", TerminalText.json("message")), ("count", "1"), ("of", "1")]
    case .signedTransactions(let ids): [("what", TerminalText.json("transactions")), ("ids", Self.list(ids))]
    case .signedMessage: [("what", TerminalText.json("message")), ("ids", "[]")]
    case .posted(let ids): [("ids", Self.list(ids))]
    }
  }

  private static func list(_ texts: [String]) -> String {
    "[" + texts.map(TerminalText.json).joined(separator: ", ") + "]"
  }
}
