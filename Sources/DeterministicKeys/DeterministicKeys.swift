// DeterministicKeys
