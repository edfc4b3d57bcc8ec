BrokerCommand.start()
