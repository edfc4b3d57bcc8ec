import CTAPHID
import CryptoPrimitives
import Glibc
import ProcessIO
import ProtectorProtocol

/// `liquid-auth-protector`: the only program that talks to what keeps a slot's key outside the vault.
///
/// It serves one request, and ends. Its command line and its environment have no secret.
enum ProtectorCommand {
  static func start() -> Never {
    for argument in CommandLine.arguments.dropFirst() {
      if argument == "--version" {
        StandardStream.output.write("liquid-auth-protector \(DeviceIdentity(capabilities: []).version)")
        exit(EXIT_SUCCESS)
      }
      // The helper of a sandboxed authenticator gives it: code in the sandbox cannot make or delete keys.
      if argument == "--get" { continue }
      StandardStream.error.write(
        "liquid-auth-protector: liquid-auth and liquid-authenticator start this program; use: liquid-auth vault")
      exit(EX_USAGE)
    }
    signal(SIGPIPE, SIG_IGN)
    let deadline = ContinuousClock.now + ProtectorMessage.timeLimit
    ProtectorPipe.answer(Result { () throws(ProtectorFailure) in try serve(until: deadline) }, to: STDOUT_FILENO)
    exit(EXIT_SUCCESS)
  }

  private static func serve(until deadline: ContinuousClock.Instant) throws(ProtectorFailure) -> ProtectorAnswer {
    do { try Hardening.apply() } catch { throw ProtectorFailure(.failed, "cannot forbid core dumps: \(error)") }
    guard let request = ProtectorPipe.request(from: STDIN_FILENO, until: deadline) else {
      throw ProtectorFailure(
        .failed, "the request to liquid-auth-protector is malformed; install all programs from the same version")
    }
    guard request.operation == .get || !CommandLine.arguments.contains("--get") else {
      throw ProtectorFailure(.failed, "the authenticator can only get keys; use: liquid-auth vault")
    }
    switch request.type {
    case ProtectorRequest.counterType:
      guard let counter = TPMCounter(data: request.data, auth: request.pin),
        let answer = try serve(request.operation, counter)
      else { break }
      return answer
    case TPMSlot.slotType:
      guard let slot = TPMSlot(data: request.data, pin: request.pin) else { break }
      return try serve(request.operation, slot)
    case SecurityKeySlot.slotType:
      guard let slot = SecurityKeySlot(data: request.data, pin: request.pin) else { break }
      return try serve(request.operation, slot)
    case SecretService.slotType:
      guard request.data.count == SecretService.idSize else { break }
      return try serve(request.operation, SecretService(id: request.data, until: deadline))
    case SystemdCredential.slotType:
      guard let credential = SystemdCredential(data: request.data) else { break }
      return try serve(request.operation, credential)
    default: break
    }
    throw ProtectorFailure(
      .failed, "liquid-auth-protector does not know this type of slot; install all programs from the same version")
  }

  /// - Returns: `nil` if the request lacks what the operation needs.
  private static func serve(
    _ operation: ProtectorRequest.Operation, _ counter: TPMCounter
  ) throws(ProtectorFailure) -> ProtectorAnswer? {
    // Nobody is asked, so a TPM that does not answer delays the request for no longer than this.
    alarm(10)
    switch operation {
    case .make:
      let (auth, data) = try TPMCounter.make()
      return ProtectorAnswer(key: auth, data: data)
    case .get: return try counter.value().map(ProtectorAnswer.withoutKey)
    case .delete: return try counter.delete() ? .deleted : nil
    }
  }

  private static func serve(
    _ operation: ProtectorRequest.Operation, _ service: SecretService
  ) throws(ProtectorFailure) -> ProtectorAnswer {
    switch operation {
    case .make:
      let key = SecretBytes.random(count: ProtectorRequest.keySize)
      try service.store(key)
      // A prompt's answer comes as a signal, and another program may have ended it.
      guard try service.key(count: key.count).isEqual(to: key) else {
        throw ProtectorFailure(.failed, "the keyring did not keep the key; try again")
      }
      return ProtectorAnswer(key: key)
    case .get: return ProtectorAnswer(key: try service.key(count: ProtectorRequest.keySize))
    case .delete:
      try service.delete()
      return .deleted
    }
  }

  private static func serve(
    _ operation: ProtectorRequest.Operation, _ slot: TPMSlot
  ) throws(ProtectorFailure) -> ProtectorAnswer {
    // tpm2-tss waits for the TPM without a limit; SIGALRM ends this program.
    alarm(UInt32(ProtectorMessage.timeLimit.components.seconds))
    switch operation {
    case .make:
      let (key, data) = try slot.make(count: ProtectorRequest.keySize)
      return ProtectorAnswer(key: key, data: data)
    case .get: return ProtectorAnswer(key: try slot.key(count: ProtectorRequest.keySize))
    // The TPM stores nothing.
    case .delete: return .deleted
    }
  }

  private static func serve(
    _ operation: ProtectorRequest.Operation, _ slot: SecurityKeySlot
  ) throws(ProtectorFailure) -> ProtectorAnswer {
    // Ends the program if a security key stops answering: not every wait of libfido2 has a limit.
    alarm(UInt32(ProtectorMessage.timeLimit.components.seconds))
    switch operation {
    case .make:
      let (key, data) = try slot.make()
      return ProtectorAnswer(key: key, data: data)
    case .get: return ProtectorAnswer(key: try slot.key())
    // The security key stores nothing.
    case .delete: return .deleted
    }
  }

  private static func serve(
    _ operation: ProtectorRequest.Operation, _ credential: SystemdCredential
  ) throws(ProtectorFailure) -> ProtectorAnswer {
    alarm(UInt32(ProtectorMessage.timeLimit.components.seconds))
    switch operation {
    case .make:
      let (key, data) = try credential.make(count: ProtectorRequest.keySize)
      return ProtectorAnswer(key: key, data: data)
    case .get: return ProtectorAnswer(key: try credential.key(count: ProtectorRequest.keySize))
    // systemd stores nothing.
    case .delete: return .deleted
    }
  }
}
