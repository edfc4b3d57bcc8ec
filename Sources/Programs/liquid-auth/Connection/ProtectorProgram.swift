import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import Glibc
import ProcessIO
import ProtectorProtocol
import Vault

/// `liquid-auth-protector`, which keeps the keys of slots elsewhere.
enum ProtectorProgram {
  /// Runs the program for one request, until it ends; a keyring may ask the person meanwhile.
  static func ask(
    _ operation: ProtectorRequest.Operation, type: UInt8, data: [UInt8], pin: SecretBytes? = nil
  ) throws(CommandFailure) -> ProtectorAnswer {
    do throws(ProtectorFailure) {
      return try answer(ProtectorRequest(operation, type: type, data: data, pin: pin))
    } catch {
      throw failure(error)
    }
  }

  static func failure(_ failure: ProtectorFailure) -> CommandFailure {
    CommandFailure(
      Problem(failure.reason, hint: failure.hint), code: failure.kind == .absent ? .absent : .failed)
  }

  /// What is left of a removed slot, if something is; it opens nothing.
  static func remains(of protector: VaultSlot.Protector) -> String? {
    // Only a keyring stores the key of a slot.
    guard case .secretService(let id, _) = protector else { return nil }
    do {
      _ = try answer(ProtectorRequest(.delete, type: protector.type, data: id))
      return nil
    } catch {
      if error.kind == .absent { return nil }
      return item(id, remainsAfter: error)
    }
  }

  /// Says which item remains in the keyring.
  ///
  /// The failure's hint is left out: the slot is gone, so the command cannot be tried again.
  static func item(_ id: [UInt8], remainsAfter failure: ProtectorFailure) -> String {
    "its item \"\(ProtectorRequest.keyringLabel)\" (attribute vault: \(id.hexadecimal)) remains in the keyring, because "
      + "\(failure.reason); the item no longer unlocks the vault; delete it with your keyring program"
  }

  static func answer(_ request: ProtectorRequest) throws(ProtectorFailure) -> ProtectorAnswer {
    let path = OwnProgram.path(ofInternal: "liquid-auth-protector")
    let (input, output): ((read: Int32, write: Int32), (read: Int32, write: Int32))
    do throws(SystemNumber) {
      (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
    } catch {
      throw ProtectorFailure(.failed, "\(path) cannot be started: \(error)", hint: "end other programs")
    }
    let brokenPipe = signal(SIGPIPE, SIG_IGN)
    defer { signal(SIGPIPE, brokenPipe) }
    let process: pid_t
    do {
      defer {
        close(input.read)
        close(output.write)
      }
      do throws(SystemNumber) {
        process = try Child.start([path], input: input.read, output: output.write, errorOutput: STDERR_FILENO)
      } catch {
        close(input.write)
        close(output.read)
        throw ProtectorFailure(.failed, "\(path) cannot be started: \(error)", hint: "install it again")
      }
    }
    defer {
      close(input.write)
      close(output.read)
      Child.reap(process)
    }
    return try ProtectorPipe.ask(
      request, input: input.write, output: output.read, until: .now + ProtectorMessage.timeLimit + .seconds(5),
      Cancellation())
  }
}

/// What `liquid-auth vault add` can add.
enum ProtectorChoice: String, ExpressibleByArgument, CaseIterable {
  case tpm
  case fido2
  case secretService = "secret-service"
  case systemdCreds = "systemd-creds"

  /// Also takes the names that `vault list` and the manual use.
  init?(argument: String) {
    switch argument {
    case "keyring": self = .secretService
    case "security-key": self = .fido2
    case "systemd": self = .systemdCreds
    default: self.init(rawValue: argument)
    }
  }
}
