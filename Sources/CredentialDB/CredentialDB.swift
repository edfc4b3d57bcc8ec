// CredentialDB
