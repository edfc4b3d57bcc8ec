WalletCommand.start()
