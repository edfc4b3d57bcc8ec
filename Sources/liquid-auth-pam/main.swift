AccountCommand.start()
