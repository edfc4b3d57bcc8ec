/// What Algorand signs begins with a tag that says what it is; a challenge that begins with one is never signed.
///
/// Recovery §11: Algorand's tags, with the multisig and post-quantum ones. A challenge of 32 random bytes begins with one
/// of two letters about once in a thousand times; its server draws another.
enum LiquidReservedTags {
  static let all: [String] = [
    "appID", "arc", "aB", "aD", "aO", "aP", "aS", "AS", "BH", "B256", "BR", "CR", "GE", "KP", "MA", "MB", "MX",
    "MsigProgram", "MultisigAddr", "NIC", "NIR", "NIV", "NPR", "OT1", "OT2", "PF", "PL", "PQA", "PQK",
    "PQProgram", "Program", "ProgData", "PS", "PK", "SD", "SpecialAddr", "STIB", "spc", "spm", "spp", "sps",
    "spv", "TE", "TG", "TL", "TX", "VO",
  ]

  /// Whether bytes could be read as something that Algorand signs.
  static func begin(_ bytes: [UInt8]) -> Bool { all.contains { bytes.starts(with: $0.utf8) } }
}
