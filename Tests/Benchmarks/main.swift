await BenchmarksCommand.start()
