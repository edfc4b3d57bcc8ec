import ControlClient
import ControlDoor
import CryptoPrimitives
import LiquidAuth
import NIOPosix

/// The authenticator's control socket, for tasks: questions block a thread of their own, and cancelling the task ends
/// the connection, also while it is being made, and so withdraws what is asked.
struct ControlSocket: Sendable {
  private let path: String
  private let thread: NIOThreadPool
  private let onPrompt: @Sendable () -> Void
  private let notRunning = Latch()

  /// - Parameters:
  ///   - path: the socket.
  ///   - thread: where questions wait.
  ///   - onPrompt: told when a person is asked before an answer comes.
  init(_ path: String, thread: NIOThreadPool, onPrompt: @escaping @Sendable () -> Void) {
    self.path = path
    self.thread = thread
    self.onPrompt = onPrompt
  }

  /// Whether nobody listened there.
  var isNotRunning: Bool { notRunning.isSet }

  /// Asks on a connection of its own.
  ///
  /// - Parameter failure: how the port that asks tells why there is no answer.
  func ask<Command: ControlCommand, Failure: Error>(
    _ command: Command, or failure: (ControlClientError) -> Failure
  ) async throws(Failure) -> Command.Answer {
    try await withClient(or: failure) { client in try client.ask(command) }
  }

  private func withClient<Answer: Sendable, Failure: Error>(
    or failure: (ControlClientError) -> Failure, _ body: @escaping @Sendable (ControlClient) throws -> Answer
  ) async throws(Failure) -> Answer {
    do {
      let client = ControlClient(path, onPrompt: onPrompt)
      return try await withTaskCancellationHandler {
        try await thread.runIfActive {
          try client.connect()
          return try body(client)
        }
      } onCancel: {
        client.disconnect()
      }
    } catch let error as ControlClientError {
      if case .notRunning = error { notRunning.set() }
      throw failure(error)
    } catch {
      throw failure(.failed("the authenticator was not asked: the wallet ends"))
    }
  }
}

extension ControlSocket: AuthenticatorPort {
  func account() async throws(AuthenticatorFailure) -> String {
    try await ask(GetAccount(), or: AuthenticatorFailure.init).address
  }

  func walletPasskey(rpID: String, host: String) async throws(AuthenticatorFailure) -> WalletPasskey {
    let passkey = try await ask(
      GetAccountPasskey(rpID: rpID, host: host == rpID ? nil : host), or: AuthenticatorFailure.init)
    return WalletPasskey(credentialID: passkey.credentialID, isStored: passkey.isStored)
  }

  func respond(to message: [UInt8]) async throws(AuthenticatorFailure) -> [UInt8] {
    try await withClient(or: AuthenticatorFailure.init) { client in try client.forward(message) }
  }
}

extension ControlSocket: AssociationKeys {
  func publicKey(publicUserID: String) async throws(AuthenticatorFailure) -> P256.PublicKey {
    let raw = try await ask(GetAssociationKey(publicUserID: publicUserID), or: AuthenticatorFailure.init).bytes
    do {
      return try P256.PublicKey(x: Array(raw.prefix(P256.fieldSize)), y: Array(raw.suffix(P256.fieldSize)))
    } catch {
      throw .refused("the authenticator answers with what is no key of P-256; see its log")
    }
  }

  func sign(_ data: [UInt8], publicUserID: String, service: String) async throws(AuthenticatorFailure) -> [UInt8] {
    let command = SignAssociation(publicUserID: publicUserID, data: data, service: service)
    return try await ask(command, or: AuthenticatorFailure.init).bytes
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
