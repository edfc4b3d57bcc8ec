LiquidAuthWalletCommand.start()
