import ControlClient
import ControlDoor
import DeterministicKeys
import LiquidAuth

/// The account of our authenticator, behind its control socket: it decodes, shows, asks and signs.
struct ControlSocketSigner: TransactionSigner {
  let socket: ControlSocket

  func sign(
    _ transactions: [TransactionToSign], origin: String
  ) async throws(TransactionSignerFailure) -> [[UInt8]?] {
    let items = transactions.map {
      TransactionsToSign.Item($0.bytes, isToBeSigned: $0.isToBeSigned, signer: $0.authAddr?.text)
    }
    return try await ask(.signTransactions(TransactionsToSign(items, origin: origin)), for: TransactionSignatures.self)
      .signatures
  }

  func sign(message: [UInt8], origin: String) async throws(TransactionSignerFailure) -> [UInt8] {
    try await ask(.signMessage(MessageToSign(message, origin: origin)), for: WalletSignature.self).bytes
  }

  private func ask<Answer: ControlAnswer>(
    _ request: ControlRequest, for answer: Answer.Type
  ) async throws(TransactionSignerFailure) -> Answer {
    do {
      return try await socket.ask(request)
    } catch {
      throw TransactionSignerFailure(error)
    }
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
