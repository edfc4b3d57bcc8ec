import AlgorandTransaction
import ControlClient
import ControlDoor
import DeterministicKeys
import LiquidAuth

/// The account of our authenticator, behind its control socket: it decodes, shows, asks and signs.
///
/// The person is told what is wanted. Where it is asked for, only a prompt tells: what cannot be read has none.
struct ControlSocketSigner: TransactionSigner {
  let socket: ControlSocket
  let output: EventOutput

  func sign(
    _ transactions: [TransactionToSign], origin: String
  ) async throws(TransactionSignerFailure) -> [[UInt8]?] {
    let items = transactions.map {
      SignTransactions.Item($0.bytes, isToBeSigned: $0.isToBeSigned, signer: $0.authAddr?.text)
    }
    let asked = transactions.filter(\.isToBeSigned)
    output.report(.signing(.transactions(asked.count, of: transactions.count)))
    let answer = try await socket.ask(SignTransactions(items, origin: origin), or: TransactionSignerFailure.init)
    output.report(.signing(.signedTransactions(asked.compactMap { try? Transaction(decoding: $0.bytes).id })))
    return answer.signatures
  }

  func sign(message: [UInt8], origin: String) async throws(TransactionSignerFailure) -> [UInt8] {
    output.report(.signing(.message))
    let signature = try await socket.ask(SignMessage(message, origin: origin), or: TransactionSignerFailure.init)
    output.report(.signing(.signedMessage))
    return signature.bytes
  }
}

extension TransactionSignerFailure {
  init(_ error: ControlClientError) {
    guard case .refused(let failure) = error else {
      self = .unavailable(error.description)
      return
    }
    let index = failure.transaction.flatMap { Int(exactly: $0) }
    switch (failure.status, index, failure.group) {
    case (.operationDenied, _, _): self = .denied
    case (.userActionTimeout, _, _): self = .timedOut
    case (.wrongGroup, _, .some(let group)): self = .wrongGroupID(computed: group)
    case (.notOurSigner, .some(let index), _): self = .notOurSigner(index: index)
    case (.cannotBeShown, let index, _): self = .notUnderstood(index: index, reason: failure.reason)
    default: self = .unavailable(failure.description)
    }
  }
}
