public import CBOR
import CryptoPrimitives
public import Recovery

/// authenticatorLargeBlobs: an array of bytes that platforms store here, with each entry under its own key, CTAP §6.10.
public enum LargeBlobs: AuthenticatorCommand {
  /// CTAP §6.10.
  public static let code: UInt8 = 0x0C
  /// The name in the standard.
  public static let name = "authenticatorLargeBlobs"
  /// The longest array, in bytes: getInfo's maxSerializedLargeBlobArray.
  public static let capacity = SerializedLargeBlobs.capacity
  /// The longest fragment, in bytes.
  public static let maxFragmentLength = Authenticator.maxMsgSize - 64
  /// The number of digest bytes at the end of an array: CTAP §6.10.3.
  public static let digestSize = SerializedLargeBlobs.digestSize

  /// CTAP §6.10.2.
  public static func run(
    _ request: Request, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response {
    switch request.action {
    case .get(let count):
      let array = try await authenticator.openVault(for: nil).largeBlobArray()
      guard request.offset <= UInt64(array.count) else {
        throw CTAPError(.invalidParameter, "the offset is beyond the end of the array")
      }
      return Response(config: Array(array.dropFirst(Int(request.offset)).prefix(count)))
    case .set(let fragment, let length):
      try await set(fragment, length: length, request, in: context, on: &authenticator)
      return Response(config: nil)
    }
  }

  /// Takes one fragment; the last one replaces the array, if the digest is right.
  private static func set(
    _ fragment: [UInt8], length: Int?, _ request: Request, in context: RequestContext,
    on authenticator: inout Authenticator
  ) async throws(CTAPError) {
    var write: LargeBlobWrite
    let vault: OpenVault
    if let length {
      // A first fragment discards an unfinished array, even if the fragment is invalid.
      authenticator.largeBlobWrite = nil
      vault = try await authenticator.openVault(for: nil)
      write = LargeBlobWrite(context: context, unlocking: vault.unlocking, length: length)
    } else {
      guard let begun = authenticator.largeBlobWrite, begun.context == context,
        request.offset == UInt64(begun.received.count), let open = authenticator.keySource.current,
        open.unlocking === begun.unlocking
      else { throw CTAPError(.invalidSequence, "a fragment that does not continue the last one") }
      (write, vault) = (begun, open)
    }
    let isByToken = try authenticator.authorize(request, fragment, vault)

    guard write.received.count + fragment.count <= write.length else {
      throw CTAPError(.invalidParameter, "more bytes than length")
    }
    authenticator.details = CommandDetails(kind: .replaceLargeBlobs, verification: isByToken ? .token : nil)
    // Without verification, the standard lets any program do this; here the user confirms it, once for the array.
    if !isByToken, let length {
      let change = UserPrompt.Change.largeBlobs(from: try vault.largeBlobArray().count, to: length)
      _ = try await authenticator.confirm(UserPrompt(purpose: .change(change)), verification: false, with: vault)
    }
    write.received += fragment
    guard write.received.count == write.length else {
      // Nothing was replaced yet, so there is no entry in the history.
      authenticator.details = CommandDetails()
      return authenticator.largeBlobWrite = write
    }
    authenticator.largeBlobWrite = nil
    authenticator.expectChange(by: Self.self, request, in: vault)
    try vault.saveLargeBlobArray(write.received)
  }

  /// The parameters of authenticatorLargeBlobs: CTAP §6.10.1.
  public struct Request: AuthenticatorRequest {
    /// Reading or writing.
    enum Action: Sendable {
      /// 0x01: the number of bytes to read.
      case get(Int)
      /// 0x02, and 0x04 with the first fragment.
      case set([UInt8], length: Int?)
    }

    let action: Action
    /// 0x03.
    let offset: UInt64
    /// 0x05 and 0x06.
    let param: PINUVAuthParameters

    /// Reads every member and checks their combination: steps 1 to 4 of CTAP §6.10.2.
    public init(parameters: CBORMap) throws(CTAPError) {
      let (get, set, offset, length): (UInt64?, [UInt8]?, UInt64?, UInt64?)
      do throws(CBORError) {
        get = try parameters.optionalUnsigned(0x01)
        set = try parameters.optionalBytes(0x02)
        offset = try parameters.optionalUnsigned(0x03)
        length = try parameters.optionalUnsigned(0x04)
        param = PINUVAuthParameters(
          param: try parameters.optionalBytes(0x05), version: try parameters.optionalUnsigned(0x06))
      } catch {
        throw CTAPError(error)
      }
      guard let offset else { throw CTAPError(.invalidParameter, "offset is missing") }
      self.offset = offset
      switch (get, set) {
      case (let get?, nil):
        guard length == nil, param.param == nil, param.version == nil else {
          throw CTAPError(.invalidParameter, "get takes only offset")
        }
        action = .get(try Self.fragment(get))
      case (nil, let set?):
        _ = try Self.fragment(UInt64(set.count))
        action = .set(set, length: try Self.length(length, offset: offset))
      default: throw CTAPError(.invalidParameter, "neither get nor set, or both")
      }
    }

    private static func fragment(_ count: UInt64) throws(CTAPError) -> Int {
      guard count <= maxFragmentLength else { throw CTAPError(.invalidLength, "a fragment of \(count) bytes") }
      return Int(count)
    }

    private static func length(_ length: UInt64?, offset: UInt64) throws(CTAPError) -> Int? {
      guard offset == 0 else {
        if length != nil { throw CTAPError(.invalidParameter, "length is only for the first fragment") }
        return nil
      }
      guard let length else { throw CTAPError(.invalidParameter, "length is missing") }
      guard length <= capacity else { throw CTAPError(.largeBlobStorageFull, "an array of \(length) bytes") }
      guard length >= SerializedLargeBlobs.initial.count else {
        throw CTAPError(.invalidParameter, "an array of \(length) bytes")
      }
      return Int(length)
    }
  }

  /// The answer: `{1: config}` after get, nothing after set.
  public struct Response: AuthenticatorResponse {
    let config: [UInt8]?
    /// 1 config.
    public var parameters: CBORMap? { config.map { [0x01: .bytes($0)] } }
  }
}

extension Authenticator {
  /// Step 5.5: a protected device requires a token of permission lbw over the fragment and its offset.
  ///
  /// - Returns: whether it required one.
  fileprivate mutating func authorize(
    _ request: LargeBlobs.Request, _ fragment: [UInt8], _ vault: OpenVault
  ) throws(CTAPError) -> Bool {
    let settings = try vault.settings()
    guard isProtected(settings) || settings.alwaysUV else { return false }
    let message =
      [UInt8](repeating: 0xFF, count: 32) + [LargeBlobs.code, 0x00]
      + withUnsafeBytes(of: UInt32(truncatingIfNeeded: request.offset).littleEndian) { Array($0) }
      + SHA256.hash(fragment)
    try authorize(request.param.required(), over: message, for: .largeBlobWrite, vault)
    return true
  }
}

extension Authenticator {
  /// Replaces the array for the owner, durably.
  ///
  /// Discards an array that a platform has begun to write, because it is based on the old one.
  ///
  /// - Parameter digest: the last 16 bytes of the array that the owner changed; `nil` replaces any.
  /// - Throws: `notAllowed` if another array was stored meanwhile, `largeBlobStorageFull` for one that is too long,
  ///   `integrityFailure` for one that does not end with LEFT(SHA-256(the bytes before), 16).
  public mutating func replaceLargeBlobArray(
    _ array: [UInt8], changedFrom digest: [UInt8]?, in vault: OpenVault
  ) throws(CTAPError) {
    if let digest, try vault.largeBlobArray().suffix(LargeBlobs.digestSize) != digest[...] {
      throw CTAPError(.notAllowed, "the large blobs were changed meanwhile; run the command again")
    }
    try vault.saveLargeBlobArray(array)
    largeBlobWrite = nil
  }
}

extension OpenVault {
  /// The array that was written last, or the initial one.
  fileprivate func largeBlobArray() throws(CTAPError) -> [UInt8] {
    try stored(store.largeBlobArray() ?? SerializedLargeBlobs.initial)
  }

  /// Replaces the array, durably.
  ///
  /// - Throws: `largeBlobStorageFull` for one that is too long, `integrityFailure` for one that does not end with
  ///   LEFT(SHA-256(the bytes before), 16).
  fileprivate func saveLargeBlobArray(_ array: [UInt8]) throws(CTAPError) {
    guard array.count <= LargeBlobs.capacity else {
      throw CTAPError(
        .largeBlobStorageFull, "an array of \(array.count) bytes; the limit is \(LargeBlobs.capacity)")
    }
    guard SerializedLargeBlobs.isValid(array) else {
      throw CTAPError(.integrityFailure, "the array does not end with its digest")
    }
    try stored(store.setLargeBlobArray(array))
  }
}
