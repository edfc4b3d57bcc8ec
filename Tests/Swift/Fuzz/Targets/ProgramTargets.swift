import CBOR
import CryptoPrimitives

@testable import Assuan
@testable import ControlProtocol
@testable import ProtectorProtocol
@testable import Recovery

/// Messages between the project's own programs, and those of pinentry.
enum ProgramTargets {
  static let all: [Target] = [
    Target(
      "control-request", of: "a request on the control socket", atMost: 4096, seeds: { requests },
      read: readRequest),
    Target(
      "control-answer", of: "an answer on the control socket, after the command byte of its request", atMost: 4096,
      seeds: { answers }, read: readAnswer),
    Target(
      "protector", of: "a message of liquid-auth-protector or liquid-auth-pam, or a request to them", atMost: 2100,
      seeds: {
        let pin = Array("1234".utf8)
        return [
          ProtectorRequest(.get, type: 2, data: [1, 2, 3], pin: secret(pin)).encodedWithoutPIN + pin,
          ProtectorRequest(.make, type: 4, data: [UInt8](repeating: 7, count: 40)).encodedWithoutPIN,
          ProtectorFailure(.wrongPIN, "wrong", hint: "again").encoded, AccountMessage.asks("Password: ").encoded,
          AccountMessage.accepted.encoded,
        ]
      }, read: readProtectorMessage),
    Target(
      "assuan", of: "lines of the Assuan protocol, of a server and of a client", atMost: 2100,
      words: [
        "OK", "ERR ", "D ", "S ", "# ", "%25", "%0A", "%", "SETDESC ", "SETPROMPT ", "GETPIN", "CONFIRM", "OPTION ",
        "BYE", "83886179", "\n",
      ],
      seeds: {
        [
          "OK Pleased to meet you\nERR 83886179 Operation cancelled <Pinentry>\nD a%25b\n",
          "SETDESC a%0Ab\nGETPIN\nBYE\n",
        ]
        .map { Array($0.utf8) }
      }, read: readLines),
  ]

  // MARK: - The control socket

  private static let commands: [any ControlCommand.Type] = [
    Hello.self, GetStatus.self, Lock.self, Unlock.self, UnlockBySlot.self, ListCredentials.self, ShowCredential.self,
    RenameCredential.self, RemoveCredential.self, RecoverCredential.self, AcceptBeforeReset.self, NewStore.self,
    PlugDevice.self, SetPIN.self, RemovePIN.self, GetSettings.self, ChangeSettings.self, SetLargeBlobArray.self,
    GetAccount.self, GetAccountPasskey.self, SignTransactions.self, SignMessage.self, GetAddresses.self,
    GetAssociationKey.self, SignAssociation.self, ForgetReaders.self, ChangePolicy.self, AcceptStore.self,
    SealSlot.self, RemoveSlot.self, ListHistory.self, CheckHistory.self, ChangeCounter.self, ReadBackup.self,
    MergeBackup.self, DigestAccounts.self, RecordBackup.self, ImportPasskeys.self, FollowBackups.self,
    AwaitBackup.self, ExportPasskeys.self, BeginRotation.self, ListRotation.self, GiveUpSites.self, EndRotation.self,
    GetRekeying.self, SignRekeying.self, PerformHybrid.self, KeepPairing.self, GetPairing.self, KeepTrezorKeys.self,
    ForgetTrezorKeys.self, ReportDApp.self,
  ]

  private static func command(_ code: UInt8?) -> (any ControlCommand.Type)? { commands.first { $0.code == code } }

  private static func readRequest(_ input: [UInt8]) throws {
    let code = try? input.withUnsafeBytes { bytes throws(ControlFailure) in try ControlMessage.command(of: bytes) }
    expect(code == nil || code == input.first, "another command")
    guard let type = command(code) else { return }
    func decode(_ request: [UInt8]) throws -> any ControlCommand {
      try request.withUnsafeBytes { try type.init(decoding: UnsafeRawBufferPointer(rebasing: $0.dropFirst())) }
    }
    let request: any ControlCommand
    do { request = try decode(input) } catch {
      expect(error is ControlFailure, "\(error)")
      return
    }
    // Unknown members are left out.
    let encoded = request.encoded.withUnsafeBytes { Array($0) }
    expect(encoded.first == type.code, "another command")
    let again = try decode(encoded).encoded.withUnsafeBytes { Array($0) }
    expect(again == encoded, "another request")
  }

  private static func readAnswer(_ input: [UInt8]) throws {
    guard let type = command(input.first) else { return }
    try readAnswer(of: type, Array(input.dropFirst()))
  }

  private static func readAnswer<Command: ControlCommand>(of type: Command.Type, _ message: [UInt8]) throws {
    let answer: Command.Answer
    do throws(ControlFailure) { answer = try Command.Answer(decoding: message) } catch {
      expect(error.status != .ok, "a failure with the status of success")
      _ = (error.description, error.encoded)
      return
    }
    let encoded = answer.encoded
    expect(try Command.Answer(decoding: encoded).encoded == encoded, "another answer")
  }

  private static let requests: [[UInt8]] = {
    let passkey = CredentialReference(rpID: "a.example", credentialID: [0xC0, 0xDE])
    let requests: [any ControlCommand] = [
      Hello(hearsOfPrompts: true), GetStatus(), Unlock(secret(Array("correct".utf8))), ListCredentials(before: 300),
      ListCredentials(digits: "01a"), ShowCredential(passkey),
      RenameCredential(passkey, name: "al", displayName: ""),
      RecoverCredential(rpID: "a.example", userHandle: [7], counter: 65_536), PlugDevice(.replug),
      ChangeSettings(minimumPINLength: 6, minimumPINLengthRPIDs: ["a"]),
      SetLargeBlobArray([0x80, 0x76], changedFrom: [0xD1]), GetAccountPasskey(rpID: "a.example", host: "w.a.example"),
      SignTransactions([.init([0x80], isToBeSigned: true), .init([], isToBeSigned: true, signer: "B")], origin: "o"),
      SignMessage([0x68], origin: "o"), GetAddresses(account: 1, first: 300, count: 32),
      SignAssociation(publicUserID: "al", data: [0x31], service: "s"), ChangePolicy(.site("a.example", 2)),
      SealSlot(key: secret([UInt8](repeating: 1, count: 32)), protector: [1: 1, 2: .bytes([9])]), RemoveSlot(id: [7]),
      ChangeCounter(.on(index: 0x0180_0000, auth: secret([UInt8](repeating: 1, count: 32)), value: 9)),
      ListHistory(after: 500), ReadBackup(offset: 0),
      MergeBackup(offset: 2, size: 4, fragment: [0xA1, 0xA2], onlyCompares: true),
      DigestAccounts(challenge: Array(0..<32), after: Array(32..<64)),
      RecordBackup(.written, file: Array(0..<16), at: 5),
      ImportPasskeys(offset: 5, size: 9, fragment: secret([1, 2])), FollowBackups("/a"),
      AwaitBackup(seen: Array(0..<16), report: report),
      ExportPasskeys(sites: ["a", "b"], start: 32),
      BeginRotation(
        mainKey: secret([UInt8](repeating: 1, count: 64)), ed25519Root: secret([UInt8](repeating: 2, count: 96))),
      ListRotation(start: 3), GiveUpSites(["a"], isOfU2F: true), SignRekeying([0x80]),
      KeepPairing(origin: "https://a", rpID: "a", pairingID: "p", credential: secret([0x63])), GetPairing(site: "a"),
      KeepTrezorKeys(secret([UInt8](repeating: 1, count: 192))), ReportDApp(isOpen: true),
    ]
    return requests.map { $0.encoded.withUnsafeBytes { Array($0) } }
  }()

  private static let report = FollowReport(
    files: [FollowReport.File(name: "n", time: 5, isMerged: true, result: "r")], problem: "p")

  private static let status: AuthenticatorStatus = {
    var status = AuthenticatorStatus(
      processID: 7, stateDirectory: "/a", problems: [OwnerSettings.pinMustBeChanged], verification: ["passphrase"],
      vault: AuthenticatorStatus.Vault(.unlocked, fingerprint: Array(0..<4), unlockedBy: "a slot"),
      device: AuthenticatorStatus.Device(transport: "broker", attached: true, node: "/dev/hidraw0"),
      prompts: PromptReport(choice: "auto", [PromptReport.BackEnd(.pinentry, program: "p", fault: "f")]))
    status.store = AuthenticatorStatus.Store(credentials: 1, hasReaders: false, counter: 2, defaultPolicy: 1)
    status.backup = AuthenticatorStatus.Backup(written: 1, checked: 2, folder: "/a", report: report)
    status.wallets = AuthenticatorStatus.Wallets(algorandSignatures: 1, openDApps: 1)
    return status
  }()

  private static let listed = CredentialDescription(
    rpID: "a.example", userID: [7], name: "al", credentialID: [0xC0, 0xDE], algorithm: -7, counter: 1, policy: 1,
    created: 5, changed: 6, source: 2, publicKey: [UInt8](repeating: 1, count: 64), hasCredBlob: true)

  /// An answer without members for each command, and some with members.
  private static let answers: [[UInt8]] = {
    let keys = [
      RotationEntry(site: "a", key: .others(before: 2, since: 1), state: .left),
      RotationEntry(site: "b", key: .passkey(name: "al"), state: .moved),
    ]
    let settings = OwnerSettings(
      alwaysUV: true, minimumPINLength: 6, minimumPINLengthRPIDs: ["a"], forcePINChange: false, isPINSet: true,
      means: ["pam"])
    let store = FollowedStore(
      state: Array(0..<16), unlocking: Array(0..<8), fingerprint: Array(0..<4), store: Array(0..<4), folder: "/a")
    let export = ExportPasskeys.Answer(
      secrets: secret([UInt8](repeating: 1, count: 96)), passkeys: [listed], total: 2, next: 1)
    let answers: [(UInt8, [UInt8])] = [
      (GetStatus.code, status.encoded), (GetSettings.code, settings.encoded), (AwaitBackup.code, store.encoded),
      (ExportPasskeys.code, export.encoded),
      (ListCredentials.code, ListCredentials.Answer(credentials: [listed], next: 3).encoded),
      (ListRotation.code, ListRotation.Answer(of: keys, start: 0, fingerprint: Array(0..<4)).encoded),
      (MergeBackup.code, MergeBackup.Answer(result: MergeResult(MergeReport())).encoded),
      (ChangePolicy.code, PolicyList(others: 1, sites: [PolicyList.Entry(site: "a", policy: 2)]).encoded),
      (Hello.code, Hello.Answer(processID: 7).encoded),
      (AcceptStore.code, AcceptStore.Answer(entries: 7).encoded),
      (ChangeCounter.code, ChangeCounter.Answer(unused: 7).encoded),
      (ReadBackup.code, ReadBackup.Answer(fragment: [1, 2], size: 9, passkeys: 1, removals: 2).encoded),
      (ImportPasskeys.code, ImportPasskeys.Answer(outcomes: PasskeyImportOutcome.allCases).encoded),
      (CheckHistory.code, CheckHistory.Answer(count: 3, first: 1, last: 3, faults: ["f"]).encoded),
      (GetAccount.code, GetAccount.Answer("A").encoded), (GetAddresses.code, GetAddresses.Answer(["A", "B"]).encoded),
      (SignTransactions.code, SignTransactions.Answer([nil, [UInt8](repeating: 1, count: 64)]).encoded),
      (PerformHybrid.code, PerformHybrid.Answer([0, 0xA0]).encoded),
      (GetRekeying.code, GetRekeying.Answer(previous: "A", present: "B").encoded),
      (GetPairing.code, GetPairing.Answer(origin: "https://a", pairingID: "p", credential: secret([0x63])).encoded),
      (
        ListHistory.code,
        ListHistory.Answer(
          entries: [
            HistoryDescription(
              number: 1, content: .init(time: 5, kind: 1, outcome: 1, verification: 1, site: "a.example")),
            HistoryDescription(number: 2, content: nil),
          ], next: 3
        ).encoded
      ),
      (
        DigestAccounts.code,
        DigestAccounts.Answer(of: [], isLast: true, phrase: Array(0..<4), largeBlobs: [[1]]).encoded
      ),
    ]
    let failure = ControlFailure(.invalidParameter, "a reason", transaction: 1, group: [UInt8](repeating: 1, count: 32))
    var messages = answers.map { code, answer in [code] + answer }
    messages.append([SignTransactions.code] + failure.encoded)
    for command in commands { messages.append([command.code, 0]) }
    return messages
  }()

  // MARK: - Helper programs

  private static func readProtectorMessage(_ input: [UInt8]) {
    guard let (kind, count) = ProtectorMessage.parse(header: Array(input.prefix(ProtectorMessage.headerSize))),
      input.count == ProtectorMessage.headerSize + count
    else { return }
    let body = Array(input.dropFirst(ProtectorMessage.headerSize))
    if let request = body.withUnsafeBytes({ ProtectorRequest(kind: kind, body: $0) }) {
      let pin = request.pin?.withUnsafeBytes { Array($0) } ?? []
      expect(request.encodedWithoutPIN + pin == input, "another request")
      for operation in ProtectorRequest.Operation.allCases {
        let other = ProtectorRequest(operation, type: request.type, data: request.data)
        let answer = ProtectorAnswer(secret(body), to: other)
        expect(answer.map { $0.key.count + $0.data.count == body.count } ?? true, "bytes of an answer are lost")
      }
    }
    if let failure = ProtectorFailure(kind: kind, body: body) { expect(failure.encoded == input, "another failure") }
    if let message = body.withUnsafeBytes({ AccountMessage(kind: kind, body: $0) }) {
      // Text that is not UTF-8 becomes longer, and is then cut.
      let encoded = message.encoded
      expect(
        encoded.count <= ProtectorMessage.headerSize + ProtectorMessage.maximumBodySize, "a message that is too long")
      if String(validating: body, as: UTF8.self) != nil { expect(encoded == input, "another message") }
    }
  }

  // MARK: - Assuan

  /// Reads lines in pieces whose sizes are in the first byte.
  private static func readLines(_ input: [UInt8]) throws {
    let size = Int(input.first ?? 0) % 64 + 1
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * AssuanLine.limit, alignment: 1)
    defer { memory.deallocate() }
    var (buffer, rest) = (AssuanLineBuffer(memory: memory), input.dropFirst())
    while !rest.isEmpty {
      let free = buffer.free
      expect(!free.isEmpty, "no room for the next bytes")
      let piece = rest.prefix(min(size, free.count))
      free.copyBytes(from: piece)
      buffer.received(piece.count)
      rest = rest.dropFirst(piece.count)
      do throws(AssuanLine.Fault) {
        while let line = try buffer.nextLine() { readLine(line) }
      } catch {
        expect(error == .tooLong, "\(error)")
        return
      }
    }
  }

  private static func readLine(_ line: UnsafeRawBufferPointer) {
    expect(!line.contains(UInt8(ascii: "\n")), "two lines in one")
    if case .data(let range)? = try? AssuanLine.reply(line) {
      let target = UnsafeMutableRawBufferPointer.allocate(byteCount: AssuanLine.limit, alignment: 1)
      defer { target.deallocate() }
      let count = try? AssuanLine.unescape(UnsafeRawBufferPointer(rebasing: line[range]), into: target)
      expect(count.map { $0 <= range.count } ?? true, "data that is longer than its line")
    }
    guard let command = try? AssuanCommand(line: line),
      let encoded = try? AssuanLine.command(command.name, command.argument)
    else { return }
    let again = encoded.dropLast().withUnsafeBytes { try? AssuanCommand(line: $0) }
    expect(again == command, "another command: \(command)")
  }
}
