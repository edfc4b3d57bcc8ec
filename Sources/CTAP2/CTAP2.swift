// Placeholders until Credentials/ lands.
public struct RPIDHash: Hashable, Sendable {}
public struct CredentialKeys: Sendable {}
public struct CredentialSource: Sendable, Equatable {}
