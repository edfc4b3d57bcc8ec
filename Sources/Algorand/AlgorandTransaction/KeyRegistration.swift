/// Registers new keys to take part in consensus, or stops taking part (`keyreg`).
public enum KeyRegistration: Hashable, Sendable {
  /// The account takes part with these keys.
  case online(ParticipationKeys)
  /// The account no longer takes part.
  case offline
  /// The account never takes part again, and gets no rewards (`nonpart`).
  case nonparticipating

  /// Participation keys, which sign votes and cannot move funds.
  public struct ParticipationKeys: Hashable, Sendable {
    /// The key of its votes, 32 bytes (`votekey`).
    public let voteKey: [UInt8]
    /// The key of the sortition, 32 bytes (`selkey`).
    public let selectionKey: [UInt8]
    /// The commitment to the keys of state proofs, 64 bytes (`sprfkey`).
    public let stateProofKey: [UInt8]?
    /// The first round of the keys (`votefst`).
    public let firstRound: UInt64
    /// The last round of the keys (`votelst`).
    public let lastRound: UInt64
    /// The number of rounds that one batch of keys covers (`votekd`).
    public let keyDilution: UInt64
  }

  init(_ members: inout Members) throws(TransactionError) {
    if try members.bool("nonpart") {
      // Other keys stay unread, so that `finish()` refuses them.
      self = .nonparticipating
    } else if let voteKey = try members.bytes("votekey", count: 32) {
      self = .online(try ParticipationKeys(voteKey: voteKey, &members))
    } else {
      self = .offline
    }
  }
}

extension KeyRegistration.ParticipationKeys {
  fileprivate init(voteKey: [UInt8], _ members: inout Members) throws(TransactionError) {
    self.voteKey = voteKey
    selectionKey = try members.required("selkey", members.bytes("selkey", count: 32))
    stateProofKey = try members.bytes("sprfkey", count: 64)
    firstRound = try members.unsigned("votefst")
    lastRound = try members.unsigned("votelst")
    keyDilution = try members.unsigned("votekd")
    guard keyDilution != 0 else { throw .missingMember("votekd") }
    guard lastRound != 0 else { throw .missingMember("votelst") }
    guard firstRound <= lastRound else { throw .contradiction("votefst", "votelst") }
  }
}
