import CTAP2

@testable import liquid_authenticator

extension PromptText {
  /// The one dialog of a ceremony.
  init(_ prompt: UserPrompt) { self = PromptPages(prompt).last }
}
