import CBOR
public import Recovery

/// The supported commands; any other byte is an invalid command.
enum AuthenticatorCommands {
  static let all: [any AuthenticatorCommand.Type] = [
    MakeCredential.self,
    GetAssertion.self,
    GetInfo.self,
    ClientPIN.self,
    Reset.self,
    GetNextAssertion.self,
    CredentialManagement.self,
    CredentialManagementPreview.self,
    Config.self,
    Selection.self,
    LargeBlobs.self,
  ]

  static subscript(code: UInt8) -> (any AuthenticatorCommand.Type)? { all.first { $0.code == code } }
}

// MARK: - Serving one message

extension Authenticator {
  /// Answers one message: command byte ‖ CBOR in, status byte ‖ CBOR out (CTAP §8).
  ///
  /// It does not throw: a refusal is one byte, a ``CTAPStatus``. Only this function turns a ``CTAPError`` into that
  /// byte. Cancelling the task withdraws a prompt. The authenticator answers one message at a time: an actor copies its
  /// authenticator, calls this on the copy, and stores the copy.
  public mutating func respond(to message: [UInt8], in context: RequestContext) async -> [UInt8] {
    let start = now()
    beginCommand(message.first, in: context)
    var outcome = CommandReport(command: nil, rpID: nil, error: nil, elapsed: .zero, client: client)
    var answer: [UInt8]
    do throws(CTAPError) {
      answer = [CTAPStatus.success.rawValue] + (try await serve(message, in: context, outcome: &outcome))
    } catch {
      outcome.error = error
      answer = [error.status.rawValue]
      // A message that cannot be read ends the sequence, as any other message does (CTAP §6), even if its first byte is
      // that of a command that continues one. Such a command ends the sequence itself if it fails.
      forgetRemaining()
    }
    outcome.elapsed = now() - start
    await reportBeforeAnswer(outcome)
    return answer
  }

  /// Reports on `writer` what is written to the history: the entry is in the file before the answer is sent.
  private func reportBeforeAnswer(_ outcome: CommandReport) async {
    guard let writer, outcome.isInHistory else { return report(outcome) }
    await withTaskExecutorPreference(writer) { report(outcome) }
  }

  /// Whether a message is authenticatorGetInfo (CTAP §6.4), getPINRetries or getUVRetries (§6.5.5.2, §6.5.5.3).
  ///
  /// They show no prompt and change nothing, so a copy of the authenticator can answer them.
  public static func isReport(_ message: [UInt8]) -> Bool {
    switch message.first {
    case GetInfo.code: true
    case ClientPIN.code:
      switch try? ClientPIN.Request(parameters: decode(Array(message.dropFirst()))).subcommand {
      case .getPINRetries, .getUVRetries: true
      default: false
      }
    default: false
    }
  }

  /// Runs one command on a request that was read already.
  public mutating func perform<Command: AuthenticatorCommand>(
    _ command: Command.Type, _ request: Command.Request, in context: RequestContext
  ) async throws(CTAPError) -> Command.Response {
    beginCommand(command.code, in: context)
    return try await command.run(request, in: context, on: &self)
  }

  /// Discards an unfinished getNextAssertion or enumeration if another command or client follows: CTAP §6; and a failed
  /// sign-in, unless this command may ask which key is meant.
  ///
  /// A power-up of the device discards all volatile state.
  mutating func beginCommand(_ code: UInt8?, in context: RequestContext) {
    details = CommandDetails(door: context.isHybrid ? .hybrid : nil)
    client = context.client
    if code != GetNextAssertion.code || remaining?.context != context { remaining = nil }
    let continues = code == CredentialManagement.code || code == CredentialManagementPreview.code
    if !continues || enumeration?.context != context { enumeration = nil }
    let maySelect = code == MakeCredential.code || code == GetAssertion.code || code == Selection.code
    if !maySelect || unserved?.context != context { unserved = nil }
    pinUVAuth.enter(context)
  }

  private mutating func serve(
    _ message: [UInt8], in context: RequestContext, outcome: inout CommandReport
  ) async throws(CTAPError) -> [UInt8] {
    guard message.count <= Self.maxMsgSize else {
      throw CTAPError(.requestTooLarge, "a message of \(message.count) bytes")
    }
    guard let code = message.first else { throw CTAPError(.invalidLength, "an empty message") }
    guard let command = AuthenticatorCommands[code], !context.isHybrid || HybridRequest.isServed(code) else {
      // Some programs try commands of other keys, and go on without them.
      throw CTAPError(.invalidCommand, "command 0x\(String(code, radix: 16)), which this key does not have")
    }
    outcome.command = command.name
    return try await serve(command, Array(message.dropFirst()), in: context, outcome: &outcome)
  }

  private mutating func serve<Command: AuthenticatorCommand>(
    _ command: Command.Type, _ parameters: [UInt8], in context: RequestContext, outcome: inout CommandReport
  ) async throws(CTAPError) -> [UInt8] {
    let depth = context.isHybrid ? HybridRequest.maximumDepth : CBORDecoder.messageDepth
    var parameters = try Self.decode(parameters, maximumDepth: depth)
    if context.isHybrid { try HybridRequest.requireVerification(&parameters, of: command.code) }
    let request = try Command.Request(parameters: parameters)
    outcome.rpID = request.rpID
    outcome.kind = command.kind(of: request)
    defer { outcome.add(details) }
    let response = try await perform(command, request, in: context)
    return command.encoded(response, on: &self)
  }

  /// The parameter map of a message; empty if it is absent.
  private static func decode(
    _ parameters: [UInt8], maximumDepth: Int = CBORDecoder.messageDepth
  ) throws(CTAPError) -> CBORMap {
    if parameters.isEmpty { return CBORMap() }
    do throws(CBORError) {
      guard let map = try CBORDecoder.decode(parameters, maximumDepth: maximumDepth).map else {
        throw .unexpectedType("the parameters are not a map")
      }
      return map
    } catch {
      throw CTAPError(error)
    }
  }
}

/// A command of CTAP §6: one file, and one line in the table `AuthenticatorCommands`.
public protocol AuthenticatorCommand: Sendable {
  /// The request.
  associatedtype Request: AuthenticatorRequest
  /// The response.
  associatedtype Response: AuthenticatorResponse

  /// The first byte of the message.
  static var code: UInt8 { get }
  /// The command's name in the standard, for logs.
  static var name: String { get }

  /// Serves one request.
  static func run(
    _ request: Request, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response

  /// Encodes the response map; the authenticator may keep it for the next request.
  static func encoded(_ response: Response, on authenticator: inout Authenticator) -> [UInt8]

  /// What the history calls the request; `nil` if it does not keep it.
  static func kind(of request: Request) -> HistoryEntry.Kind?
}

extension AuthenticatorCommand {
  /// Encodes the response map.
  public static func encoded(_ response: Response, on authenticator: inout Authenticator) -> [UInt8] {
    response.parameters.map { CBOREncoder.encode(.map($0)) } ?? []
  }
}
