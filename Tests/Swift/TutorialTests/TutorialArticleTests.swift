import Foundation
import Testing

/// The tutorial of each library product, and the test that has its code: `XTutorial.swift` beside this file.
///
/// The code of the article is what stands in the test between `// tutorial: begin` and `// tutorial: end`, without the
/// checks, `#expect` and `Issue.record`, of one line each.
@Suite struct TutorialArticleTests {
  private static let here = URL(filePath: #filePath).deletingLastPathComponent()
  private static let root = here.appending(path: "../../..").standardizedFileURL

  static let products: [String] = {
    let start = "    .library(name: \""
    let libraries = lines(of: root.appending(path: "Package.swift")).filter { $0.hasPrefix(start) }
    return libraries.map { String($0.dropFirst(start.count).prefix { $0 != "\"" }) }
  }()

  @Test func `the products are the ten libraries`() {
    #expect(Self.products.count == 10)
  }

  @Test(arguments: products)
  func `the code of a tutorial is the code of its test`(_ product: String) throws {
    let tutorial = try #require(try Self.tutorial(of: product))
    let shown = Self.blocks(of: Self.lines(of: Self.catalog(of: product).appending(path: "\(tutorial).md")))
    let compiled = Self.regions(of: Self.lines(of: Self.here.appending(path: "\(product)Tutorial.swift")))
    #expect(!shown.isEmpty)
    for (article, test) in zip(shown, compiled) where article != test {
      Issue.record("\(tutorial).md has:\n\(article)\n\(product)Tutorial.swift has:\n\(test)")
      return
    }
    #expect(shown.count == compiled.count)
  }

  @Test(arguments: products)
  func `the page of a library leads to its tutorial`(_ product: String) throws {
    let tutorial = try #require(try Self.tutorial(of: product))
    let page = Self.lines(of: Self.catalog(of: product).appending(path: "\(product).md"))
    #expect(page.first == "# ``\(product)``" && page.contains("- <doc:\(tutorial)>"))
  }

  private static func catalog(of product: String) -> URL {
    let algorand = ["AlgorandStatements", "AlgorandTransaction", "Keyri", "LiquidAuth"]
    let group = algorand.contains(product) ? "Algorand" : "Core"
    return root.appending(path: "Sources/\(group)/\(product)/\(product).docc")
  }

  /// The one article beside the library's page; `nil` if there is none, or more than one.
  private static func tutorial(of product: String) throws -> String? {
    let files = try FileManager.default.contentsOfDirectory(atPath: catalog(of: product).path)
    let articles = files.filter { $0.hasSuffix(".md") && $0 != "\(product).md" }
    return articles.count == 1 ? articles.first.map { String($0.dropLast(3)) } : nil
  }

  /// The lines of a file; none if it cannot be read.
  private static func lines(of file: URL) -> [Substring] {
    (try? String(contentsOf: file, encoding: .utf8))?.split(separator: "\n", omittingEmptySubsequences: false) ?? []
  }

  /// The Swift code of an article: the lines between fences, without empty ones.
  private static func blocks(of article: [Substring]) -> [Substring] {
    var (code, isInside): ([Substring], Bool) = ([], false)
    for line in article {
      if line.hasPrefix("```") { isInside = line == "```swift" } else if isInside { code.append(line) }
    }
    return code.filter { !$0.isEmpty }
  }

  /// The code of a test that its article shows: each region without its own indentation, empty lines and checks.
  private static func regions(of test: [Substring]) -> [Substring] {
    var (code, indentation): ([Substring], Int?) = ([], nil)
    for line in test {
      let text = line.drop { $0 == " " }
      switch text {
      case "// tutorial: begin": indentation = line.count - text.count
      case "// tutorial: end": indentation = nil
      case _ where text.isEmpty || text.hasPrefix("#expect(") || text.hasPrefix("Issue.record("): break
      default:
        if let indentation { code.append(line.dropFirst(indentation)) }
      }
    }
    return code
  }
}
