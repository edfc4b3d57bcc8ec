await WalletCommand.start()
