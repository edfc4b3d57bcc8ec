import ArgumentParser
import Glibc

/// Measures whether the time of comparisons depends on the secret, as dudect does (Reparaz, Balasch, Verbauwhede, 2017).
///
/// It takes inputs of two classes in random order, and compares their times with Welch's t-test. Interruptions make some
/// samples slow, so it repeats the test without the slowest ones, at 100 limits, and the greatest t counts.
struct ConstantTime: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "constant-time", abstract: "Measures whether the time of comparisons depends on the secret.")

  @Option(help: "How many samples of each comparison.")
  var samples = 100_000

  /// dudect's limits of t: above the first, the time depends on the input; below the second, no difference was found.
  private static let (leak, unclear) = (10.0, 4.5)

  func validate() throws {
    guard samples >= 1000 else { throw ValidationError("at least 1000 samples") }
  }

  func run() throws {
    var rows = [["comparison", "samples", "calls in each", "t of all", "greatest t", "of the fastest"]]
    var control = 0.0
    for comparison in SecretComparison.allCases {
      let measured = try Times(of: comparison, samples: samples)
      let all = measured.t(below: .max)
      let cropped = measured.limits.map { (t: measured.t(below: $0.nanoseconds), part: $0.part) }
      let greatest = (cropped + [(t: all, part: 1)]).max { abs($0.t) < abs($1.t) } ?? (t: all, part: 1)
      if comparison == .leaking { control = abs(greatest.t) }
      rows.append([
        comparison.title, "\(samples)", "\(comparison.callsPerSample)", Text.signed(all), Text.signed(greatest.t),
        Text.decimal(100 * greatest.part, 1) + " %",
      ])
    }
    Text.table(
      "Inputs that differ in the first byte and in the last one: Welch's t-test of their times. An absolute t below "
        + "\(Self.unclear) finds no difference; above \(Self.leak), the time depends on the input.", rows)
    guard control > Self.leak else {
      throw BenchmarkError("the measurement did not find the control: the machine is too busy")
    }
  }
}

/// The times of one comparison, for both classes of inputs.
private struct Times {
  private var times: [(nanoseconds: UInt64, difference: SecretComparison.Difference)] = []

  init(of comparison: SecretComparison, samples: Int) throws {
    var prepared = try comparison.prepared()
    var (random, same) = (SystemRandomNumberGenerator(), 0)
    times.reserveCapacity(samples)
    // The first calls fill the caches.
    for index in -100..<samples {
      let difference: SecretComparison.Difference = Bool.random(using: &random) ? .first : .last
      prepared.use(difference)
      let start = Samples.now
      same += prepared.countedLoop(times: comparison.callsPerSample)
      let end = Samples.now
      if index >= 0 { times.append((end - start, difference)) }
    }
    guard comparison == .scalar || same == 0 else { throw BenchmarkError("an input is equal to the secret") }
  }

  /// Limits that leave out more and more of the slow samples, chosen as in dudect, and the part that is left.
  var limits: [(nanoseconds: UInt64, part: Double)] {
    let sorted = times.map(\.nanoseconds).sorted()
    return (1...100).map { step in
      let part = 1 - pow(0.5, 10 * Double(step) / 100)
      return (sorted[min(Int(part * Double(sorted.count)), sorted.count - 1)], part)
    }
  }

  /// Welch's t of the samples below a limit; 0 if there are too few.
  func t(below limit: UInt64) -> Double {
    var (first, last) = (Moments(), Moments())
    for one in times where one.nanoseconds < limit {
      if one.difference == .first { first.add(Double(one.nanoseconds)) } else { last.add(Double(one.nanoseconds)) }
    }
    guard first.count > 30, last.count > 30 else { return 0 }
    let error = (first.variance / first.count + last.variance / last.count).squareRoot()
    return error == 0 ? 0 : (first.mean - last.mean) / error
  }
}

/// Mean and variance, by Welford's method.
private struct Moments {
  private(set) var count = 0.0
  private(set) var mean = 0.0
  private var squares = 0.0

  var variance: Double { squares / (count - 1) }

  mutating func add(_ value: Double) {
    count += 1
    let distance = value - mean
    mean += distance / count
    squares += distance * (value - mean)
  }
}

extension Text {
  /// A number with its sign, and two decimal places.
  fileprivate static func signed(_ number: Double) -> String { (number < 0 ? "-" : "") + decimal(abs(number), 2) }
}
