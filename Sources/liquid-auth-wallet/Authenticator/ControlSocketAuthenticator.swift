import ControlClient
import ControlDoor
import LiquidAuth

/// Our authenticator, behind its control socket.
struct ControlSocketAuthenticator: AuthenticatorPort {
  let socket: ControlSocket

  func account() async throws(AuthenticatorFailure) -> String {
    try await ask(.account, for: AccountAddress.self).address
  }

  func walletPasskey(rpID: String, host: String) async throws(AuthenticatorFailure) -> WalletPasskey {
    let passkey = try await ask(
      .walletPasskey(rpID: rpID, host: host == rpID ? nil : host), for: AccountPasskey.self)
    return WalletPasskey(credentialID: passkey.credentialID, isStored: passkey.isStored)
  }

  func respond(to message: [UInt8]) async throws(AuthenticatorFailure) -> [UInt8] {
    do {
      return try await socket.exchange(.ctap(message))
    } catch {
      throw AuthenticatorFailure(error)
    }
  }

  private func ask<Answer: ControlAnswer>(
    _ request: ControlRequest, for answer: Answer.Type
  ) async throws(AuthenticatorFailure) -> Answer {
    do {
      return try await socket.ask(request)
    } catch {
      throw AuthenticatorFailure(error)
    }
  }
}

extension AuthenticatorFailure {
  init(_ error: ControlClientError) {
    switch error {
    case .notRunning(let reason), .failed(let reason): self = .unreachable(reason)
    case .refused(let failure):
      switch failure.status {
      case .operationDenied: self = .declined
      case .userActionTimeout: self = .timedOut
      default: self = .refused(failure.description)
      }
    }
  }
}
