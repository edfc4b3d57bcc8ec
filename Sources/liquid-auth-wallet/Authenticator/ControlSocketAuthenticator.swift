import ControlClient
import ControlDoor
import LiquidAuth

/// Our authenticator, behind its control socket.
struct ControlSocketAuthenticator: AuthenticatorPort {
  let socket: ControlSocket

  func account() async throws(PortError) -> String {
    try await ask(.account, for: AccountAddress.self).address
  }

  func walletPasskey(rpID: String, host: String) async throws(PortError) -> WalletPasskey {
    let passkey = try await ask(
      .walletPasskey(rpID: rpID, host: host == rpID ? nil : host), for: AccountPasskey.self)
    return WalletPasskey(credentialID: passkey.credentialID, isStored: passkey.isStored)
  }

  func respond(to message: [UInt8]) async throws(PortError) -> [UInt8] {
    do {
      return try await socket.exchange(.ctap(message))
    } catch {
      throw PortError(error)
    }
  }

  private func ask<Answer: ControlAnswer>(
    _ request: ControlRequest, for answer: Answer.Type
  ) async throws(PortError) -> Answer {
    do {
      return try await socket.ask(request)
    } catch {
      throw PortError(error)
    }
  }
}

extension PortError {
  init(_ error: ControlClientError) {
    guard case .refused(let failure) = error else {
      self = .unreachable(error.description)
      return
    }
    let index = failure.transaction.flatMap { Int(exactly: $0) }
    switch (failure.status, index, failure.group) {
    case (.operationDenied, _, _): self = .declined
    case (.userActionTimeout, _, _): self = .timedOut
    case (.wrongGroup, _, .some(let group)): self.init(.wrongGroup(computed: group), failure.description)
    case (.notOurSigner, .some(let index), _): self.init(.notOurSigner(index: index), failure.description)
    case (.cannotBeShown, let index, _): self.init(.notUnderstood(index: index), failure.reason)
    default: self = .refused(failure.description)
    }
  }
}
