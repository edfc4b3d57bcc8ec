import CryptoPrimitives

/// The encryption of a secret before it is split: a Feistel network of four rounds with PBKDF2 as the round function
/// (SLIP-39, "Encryption of the master secret").
///
/// There is no authentication tag: with another passphrase, decryption gives another secret, without an error.
struct MasterSecretCipher {
  /// What the salt begins with: nothing for extendable shares, else "shamir" and the identifier in two bytes.
  private let saltPrefix: [UInt8]
  /// The number of HMACs in each round.
  private let iterations: Int
  private let passphrase: SecretBytes

  init(identifier: UInt16, isExtendable: Bool, iterationExponent: Int, passphrase: SecretBytes) {
    saltPrefix = isExtendable ? [] : Array("shamir".utf8) + [UInt8(identifier >> 8), UInt8(identifier & 0xff)]
    iterations = 2500 << iterationExponent
    self.passphrase = passphrase
  }

  func encrypt(_ secret: SecretBytes) -> SecretBytes { apply([0, 1, 2, 3], to: secret) }

  func decrypt(_ encrypted: SecretBytes) -> SecretBytes { apply([3, 2, 1, 0], to: encrypted) }

  /// - Precondition: the secret has an even number of bytes, at most 64.
  private func apply(_ rounds: [UInt8], to secret: SecretBytes) -> SecretBytes {
    let half = secret.count / 2
    return withWipedBytes(count: secret.count) { bytes in
      secret.withUnsafeBytes { bytes.copyMemory(from: $0) }
      var left = UnsafeMutableRawBufferPointer(rebasing: bytes[..<half])
      var right = UnsafeMutableRawBufferPointer(rebasing: bytes[half...])
      for round in rounds {
        add(round: round, of: UnsafeRawBufferPointer(right), to: left)
        swap(&left, &right)
      }
      return SecretBytes(count: secret.count) { result in
        UnsafeMutableRawBufferPointer(rebasing: result[..<half]).copyMemory(from: UnsafeRawBufferPointer(right))
        UnsafeMutableRawBufferPointer(rebasing: result[half...]).copyMemory(from: UnsafeRawBufferPointer(left))
      }
    }
  }

  /// XORs the first block of PBKDF2-HMAC-SHA256 (RFC 8018 §5.2) into `output`.
  ///
  /// The password is the number of the round and the passphrase; the salt ends with `half`. PBKDF2 of OpenSSL is not
  /// used: on some processors, its SHA-256 leaves words of the salt on the stack, and here half of the secret is in the
  /// salt.
  private func add(round: UInt8, of half: UnsafeRawBufferPointer, to output: UnsafeMutableRawBufferPointer) {
    withWipedBytes(count: 1 + passphrase.count) { password in
      password[0] = round
      passphrase.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: password[1...]).copyMemory(from: $0) }
      let key = UnsafeRawBufferPointer(password)
      withWipedBytes(count: HMACSHA256.size) { tag in
        saltPrefix.withUnsafeBytes { prefix in
          withUnsafeBytes(of: UInt32(1).bigEndian) { block in
            HMACSHA256.authenticate(prefix, half, block, key: key, into: tag)
          }
        }
        for iteration in 1...iterations {
          if iteration > 1 { HMACSHA256.authenticate(UnsafeRawBufferPointer(tag), key: key, into: tag) }
          for place in output.indices { output[place] ^= tag[place] }
        }
      }
    }
  }
}
