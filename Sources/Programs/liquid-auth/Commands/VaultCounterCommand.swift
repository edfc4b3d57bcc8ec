import ArgumentParser
import ControlClient
import ControlProtocol
import ProcessIO
import ProtectorProtocol
import Recovery
import Vault

extension VaultCommand {
  /// `liquid-auth vault counter`.
  struct Counter: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Use a counter in the TPM to find an old copy of the store.",
      discussion: """
        The authenticator increments the counter each time it opens the vault, and nothing can decrease the counter. If \
        someone puts an old copy of the state directory back, for example to get more tries for the PIN, the authenticator \
        reports it, and blocks the PIN. Each command asks for the passphrase, and needs a running authenticator.

        on      make a counter in the TPM, or replace the counter with a new one
        off     remove the counter
        accept  accept an old copy as the newest store; the PIN gets all its tries again
        """)

    enum Change: String, ExpressibleByArgument, CaseIterable {
      case on
      case off
      case accept
    }

    @Argument(help: "on, off or accept.") var change: Change
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connect()
      if change == .on {
        let conditions = TPMSlot.Conditions(hasPIN: false, pcrs: [])
        _ = try ProtectorProgram.ask(.find, type: VaultSlot.Protector.tpmType, data: conditions.encoded)
      }
      try connection.unlock()
      switch change {
      case .on:
        let counter = try NewCounter()
        let unused: UInt32?
        do throws(ControlClientError) {
          unused = try connection.request(counter.command).unused
        } catch {
          throw Self.failure(error, of: counter.index, at: place)
        }
        write(
          "the counter is on: the TPM counts each opening of the vault",
          remains: unused.flatMap { Self.remains(of: $0) })
      case .off:
        let unused = try connection.ask(ChangeCounter(.off)).unused
        write("the counter is off", remains: unused.flatMap { Self.remains(of: $0) })
      case .accept:
        try connection.ask(ChangeCounter(.accept))
        write("the store is accepted as it is; the PIN, if one is set, has all its tries again", remains: nil)
      }
    }

    private func write(_ text: String, remains: String?) {
      output.write(
        text + (remains.map { "; \($0)" } ?? ""),
        json: ["counter": .string(change.rawValue), "remains": JSON(remains)])
    }

    /// Removes a new counter from the TPM if the authenticator refused it.
    ///
    /// After another error, the authenticator may have stored it, and use it from now on.
    ///
    /// - Returns: the failure, with what is left of the counter, if anything is.
    static func failure(_ error: ControlClientError, of index: UInt32, at place: PlaceOptions) -> CommandFailure {
      let failure = CommandFailure(error)
      let left: String?
      if case .refused = error {
        left = remains(of: index, "the new counter")
      } else {
        let advice = "run: liquid-auth vault counter on\(place.arguments)"
        left =
          "\(isStill("the new counter", index)), because the authenticator may use it; \(advice); "
          + "then remove this one with: tpm2_nvundefine \(hexadecimal(index))"
      }
      guard let left else { return failure }
      return CommandFailure("\(failure.completed(by: place).description); \(left)", code: failure.code)
    }

    private static func isStill(_ name: String, _ index: UInt32) -> String {
      "\(name) is still in the TPM, at \(hexadecimal(index))"
    }

    /// An NV index, as tpm2-tools take it.
    private static func hexadecimal(_ index: UInt32) -> String { "0x0\(String(index, radix: 16))" }

    /// Removes a counter from the TPM.
    ///
    /// - Returns: what is left of it, if something is.
    private static func remains(of index: UInt32, _ name: String = "the old counter") -> String? {
      do throws(ProtectorFailure) {
        _ = try ProtectorProgram.answer(
          ProtectorRequest(.delete, type: ProtectorRequest.counterType, data: index.bigEndianBytes + [0]))
        return nil
      } catch {
        if error.kind == .absent { return nil }
        return "\(isStill(name, index)): \(error); remove it with: tpm2_nvundefine \(hexadecimal(index))"
      }
    }
  }
}

/// A counter that was just made in the TPM.
private struct NewCounter {
  let index: UInt32
  let command: ChangeCounter

  init() throws(CommandFailure) {
    let answer = try ProtectorProgram.ask(.make, type: ProtectorRequest.counterType, data: [])
    guard answer.data.count == 12 else { throw ProtectorProgram.failure(.malformed(.protector)) }
    index = UInt32(bigEndianBytes: answer.data.prefix(4))
    command = ChangeCounter(
      .on(index: index, auth: answer.key, value: UInt64(bigEndianBytes: answer.data.dropFirst(4))))
  }
}
