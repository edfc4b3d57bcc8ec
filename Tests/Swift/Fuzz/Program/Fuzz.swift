import Foundation

@testable import FuzzTargets

// The functions that libFuzzer calls. It has the `main`. scripts/fuzz starts the program with one of:
// FUZZ_LIST=1               print the names of all targets
// FUZZ_TARGET=NAME          fuzz a target: the arguments are libFuzzer's
// FUZZ_TARGET, FUZZ_SEEDS=DIRECTORY
//                           write the target's seeds there, its dictionary to DIRECTORY.dict, and print its longest input

private func environment(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

/// The target that the environment names.
private let target: Target = {
  let name = environment("FUZZ_TARGET") ?? ""
  guard let target = Target.all.first(where: { $0.name == name }) else {
    fatalError("FUZZ_TARGET names no target: \(name)")
  }
  return target
}()

/// Called once, before the first input.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ argumentCount: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
  if environment("FUZZ_LIST") != nil {
    for target in Target.all { print(target.name) }
    exit(0)
  }
  guard let folder = environment("FUZZ_SEEDS") else { return 0 }
  do { try target.writeSeeds(to: URL(filePath: folder)) } catch { fatalError("the seeds of \(target.name): \(error)") }
  exit(0)
}

/// Called for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: bytes, count: count))
  do { try target.read(input) } catch { fatalError("\(target.name): an unexpected error: \(error)") }
  return 0
}
