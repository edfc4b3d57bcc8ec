PromptCommand.start()
