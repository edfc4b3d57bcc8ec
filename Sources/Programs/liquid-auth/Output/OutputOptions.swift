import ArgumentParser
import ProcessIO

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
