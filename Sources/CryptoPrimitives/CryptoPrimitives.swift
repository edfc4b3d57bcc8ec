// Placeholder until the real one lands.
public final class SecretBytes: Sendable {}
