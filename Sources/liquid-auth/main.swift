await LiquidAuthCommand.start()
