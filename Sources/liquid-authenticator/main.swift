DaemonCommand.start()
