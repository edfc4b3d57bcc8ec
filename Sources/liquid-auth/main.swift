await LiquidAuthCommand.start()()
