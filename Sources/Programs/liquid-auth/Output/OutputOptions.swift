import ArgumentParser
import ProcessIO

/// Reads the whole number of an option; for any other text, the error gives the range.
func wholeNumber<Number: FixedWidthInteger & Sendable>(
  _ range: ClosedRange<Number>
) -> @Sendable (String) throws -> Number {
  { text in
    guard let number = Number(text), range.contains(number) else {
      throw ValidationError("it is a whole number, \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

/// How results are written.
struct OutputOptions: ParsableArguments {
  @Flag(help: "Write the result, or the error, as JSON.")
  var json = false

  /// Writes a result as text or JSON.
  func write(_ text: @autoclosure () -> String, json value: @autoclosure () -> JSON) {
    writeResult(json ? value().description : text(), isJSON: json)
  }
}

/// Writes lines of a result to standard output; ends the process with the error if that fails.
func writeResult(_ text: String, isJSON: Bool) {
  guard StandardStream.output.write(text) else { CommandFailure.unwritten.reportAndExit(isJSON: isJSON) }
}
