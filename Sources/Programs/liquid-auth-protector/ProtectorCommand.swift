import CTAPHID
import CVersion
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
        StandardStream.output.write(
          "liquid-auth-protector \(DeviceIdentity(capabilities: []).version)\(String(cString: cversion_snapshot()))")
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
        .failed, "the request to liquid-auth-protector is malformed", hint: "install all programs from the same version"
      )
    }
    guard request.operation == .get || !CommandLine.arguments.contains("--get") else {
      throw ProtectorFailure(.failed, "the authenticator can only get keys", hint: "use: liquid-auth vault")
    }
    if request.type == ProtectorRequest.counterType {
      guard let counter = TPMCounter(data: request.data, auth: request.pin),
        let answer = try serve(request.operation, counter)
      else { throw unknownType }
      return answer
    }
    guard let keeper = try keeper(for: request, until: deadline) else { throw unknownType }
    // Not every wait of tpm2-tss and libfido2 has a limit: SIGALRM ends this program soon after the deadline.
    alarm(UInt32(ProtectorMessage.timeLimit.components.seconds) + 2)
    switch request.operation {
    case .make:
      let (key, data) = try keeper.make(count: ProtectorRequest.keySize)
      return ProtectorAnswer(key: key, data: data)
    case .get: return try keeper.answer(count: ProtectorRequest.keySize)
    case .delete: try keeper.delete()
    case .find: try keeper.find()
    }
    return .withoutKey()
  }

  private static let unknownType = ProtectorFailure(
    .failed, "liquid-auth-protector does not know this type of slot", hint: "install all programs from the same version"
  )

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
    case .delete: return try counter.delete() ? .withoutKey() : nil
    case .find: return nil
    }
  }

  /// - Returns: `nil` for another type of slot, or if its data have another form.
  private static func keeper(
    for request: ProtectorRequest, until deadline: ContinuousClock.Instant
  ) throws(ProtectorFailure) -> (any KeyKeeper)? {
    switch request.type {
    case TPMKeeper.slotType: TPMKeeper(data: request.data, pin: request.pin)
    case SecurityKeyKeeper.slotType: SecurityKeyKeeper(data: request.data, pin: request.pin)
    case SecretService.slotType where request.data.count == SecretService.idSize:
      try SecretService(id: request.data, until: deadline)
    case SystemdCredential.slotType: SystemdCredential(data: request.data, until: deadline)
    default: nil
    }
  }
}

/// What makes and keeps the key of one slot.
protocol KeyKeeper {
  /// Makes a key of `count` bytes.
  ///
  /// - Returns: the key, and the public data that the slot stores; empty if there are none.
  func make(count: Int) throws(ProtectorFailure) -> (key: SecretBytes, data: [UInt8])

  /// The key, `count` bytes.
  func key(count: Int) throws(ProtectorFailure) -> SecretBytes

  /// The key, `count` bytes, and the public data that the slot lacks; by default only the key.
  func answer(count: Int) throws(ProtectorFailure) -> ProtectorAnswer

  /// Deletes the key, if it is stored outside the vault.
  func delete() throws(ProtectorFailure)

  /// Checks, without asking anybody, that a slot can be made, or that what keeps the key of the slot is there.
  func find() throws(ProtectorFailure)
}

extension KeyKeeper {
  func answer(count: Int) throws(ProtectorFailure) -> ProtectorAnswer { ProtectorAnswer(key: try key(count: count)) }
  func delete() {}
  func find() throws(ProtectorFailure) {}
}

extension TPMKeeper: KeyKeeper {}
