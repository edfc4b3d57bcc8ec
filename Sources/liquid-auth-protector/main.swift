ProtectorCommand.start()
