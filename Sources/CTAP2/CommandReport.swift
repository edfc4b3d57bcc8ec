/// What became of one message: what the shell's one log line a ceremony tells.
public struct CommandReport: Sendable {
  /// The command's name in the standard; `nil` when the message named none that we have.
  public var command: String?
  /// The relying party, once the request was read.
  public var rpID: String?
  /// Why there was no answer; `nil` after a success.
  public var error: CTAPError?
  /// How long it took, a person's time included.
  public var elapsed: Duration

  /// The byte that the client got.
  public var status: CTAPStatus { error?.status ?? .success }
}
