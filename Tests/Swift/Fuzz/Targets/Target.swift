import CryptoPrimitives
import Dispatch
import Synchronization
import TestSupport
import TestVectors

@testable import Recovery

/// One kind of input from outside, and the functions of the project that read it.
struct Target: Sendable {
  /// Its name in `scripts/fuzz`.
  let name: String
  /// The longest input to try, bytes.
  let maximumSize: Int
  /// The words of libFuzzer's dictionary, which it puts into inputs.
  let words: [String]
  /// Valid inputs, from which others are made.
  let seeds: @Sendable () throws -> [[UInt8]]
  /// Reads an input.
  ///
  /// A fault is a trap, an error that leaves this function, or a call of ``expect(_:_:file:line:)`` with `false`. An input that
  /// is refused in the documented way is not a fault.
  let read: @Sendable (_ input: [UInt8]) throws -> Void

  /// - Parameter input: the kind of input, for `scripts/fuzz --help`, which finds it in the source.
  init(
    _ name: String, of input: String, atMost maximumSize: Int = 4096, words: [String] = [],
    seeds: @escaping @Sendable () throws -> [[UInt8]], read: @escaping @Sendable (_ input: [UInt8]) throws -> Void
  ) {
    (self.name, self.maximumSize, self.words, self.seeds, self.read) = (name, maximumSize, words, seeds, read)
  }

  static let all: [Target] = [
    PasskeyFileTargets.all, BackupTargets.all, ShareTargets.all, TransportTargets.all, CBORTargets.all,
    AuthenticatorTargets.all, VaultTargets.all, ProgramTargets.all, LinkTargets.all, ServerTargets.all, DAppTargets.all,
    WalletTargets.all, HybridTargets.all, HTTPTargets.all, CatalogueTarget.all,
    LargeBlobTarget.all,
  ].flatMap { $0 }
}

/// Ends the process, so that libFuzzer saves the input, unless the condition is true.
///
/// An optimized program prints no message of `precondition`.
func expect(
  _ condition: Bool, _ what: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
  if !condition { fatalError(what(), file: file, line: line) }
}

/// The value of a constant; an error ends the process.
func constant<Value>(_ make: () throws -> Value) -> Value {
  do { return try make() } catch { fatalError("a constant of the targets cannot be made: \(error)") }
}

/// The phrase of `keys-and-recovery.json`.
enum TestPhrase {
  static let keys = constant { try KeysAndRecovery.keys() }
  static let ed25519Root = constant { try KeysAndRecovery.load().input.ed25519Root.hex.secret }
}

/// An input as a series of choices; zeros follow after its end.
struct Choices {
  private var rest: ArraySlice<UInt8>

  init(_ input: [UInt8]) { rest = input[...] }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  mutating func bool() -> Bool { byte() & 1 == 1 }

  /// A number from 0 to `limit` − 1; `limit` is at most 256.
  mutating func number(below limit: Int) -> Int { Int(byte()) % limit }

  mutating func one<Element>(of elements: [Element]) -> Element { elements[number(below: elements.count)] }

  /// Exactly `count` bytes.
  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count) + [UInt8](repeating: 0, count: max(0, count - rest.count))
  }

  /// As many bytes as the next byte says, or what is left.
  mutating func counted() -> [UInt8] {
    let count = Int(byte())
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// The rest.
  mutating func remainder() -> [UInt8] {
    defer { rest = [] }
    return Array(rest)
  }
}

/// Runs asynchronous work on another thread, and waits for its end.
func wait<Value: Sendable>(for work: @escaping @Sendable () async throws -> Value) throws -> Value {
  let outcome = Outcome<Value>()
  Task.detached {
    do { outcome.set(.success(try await work())) } catch { outcome.set(.failure(error)) }
  }
  return try outcome.value()
}

/// The outcome of work on another thread.
private final class Outcome<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)
  private let isDone = DispatchSemaphore(value: 0)

  func set(_ value: Result<Value, any Error>) {
    result.withLock { $0 = value }
    isDone.signal()
  }

  func value() throws -> Value {
    isDone.wait()
    guard let result = result.withLock({ $0 }) else { fatalError("work without an outcome") }
    return try result.get()
  }
}

/// Copies bytes that are not secret into a secret.
func secret(_ bytes: [UInt8]) -> SecretBytes { bytes.withUnsafeBytes { SecretBytes(copying: $0) } }
