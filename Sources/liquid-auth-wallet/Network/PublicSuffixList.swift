import CPSL
import LiquidAuth

/// The list of public suffixes that the distribution keeps, by libpsl.
final class PublicSuffixList: PublicSuffixes {
  private nonisolated(unsafe) let list: OpaquePointer

  /// Reads the newest list that is installed, or the one in the library.
  init() throws(WalletFailure) {
    guard let list = psl_latest(nil) else {
      throw WalletFailure("there is no list of public suffixes; install publicsuffix")
    }
    self.list = list
  }

  deinit { psl_free(list) }

  func isPublicSuffix(_ domain: String) -> Bool { psl_is_public_suffix(list, domain) != 0 }
}
