import CSodium

/// Fresh bytes from the system's generator, for values that are no secret, such as nonces and salts.
public func randomBytes(_ count: Int) -> [UInt8] {
  Sodium.start()
  return newBytes(count) { randombytes_buf($0, count) }
}

/// Whether both arrays hold the same bytes; the time taken tells only whether the lengths are equal.
public func constantTimeEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  a.count == b.count && sodium_memcmp(a, b, a.count) == 0
}
