"""A client of the control socket: the wallet's requests, encoded by cbor2 and not by our code."""

import socket

import cbor2
from support.patience import PATIENCE

ACCOUNT, WALLET_PASSKEY, SIGN_TRANSACTIONS, SIGN_MESSAGE = 0x61, 0x62, 0x63, 0x64
ACCOUNTS, ASSOCIATION_KEY, SIGN_ASSOCIATION, FORGET_READERS = 0x65, 0x66, 0x67, 0x68
KEEP_PAIRING, GET_PAIRING = 0x90, 0x91
STATUS, UNLOCK, DEVICE, UNLOCK_BY_SLOT = 0x51, 0x53, 0x5B, 0x7E
#: The groups of a status that tests read (AuthenticatorStatus).
VAULT, PROMPTS, STORE, WALLETS = 5, 7, 8, 10
POWER_CYCLE = 4
OK, DENIED, WITHDRAWN, BUSY = 0x00, 0x27, 0x2D, 0xF4
PASSPHRASE_REQUIRED, WRONG_PASSPHRASE, WRONG_GROUP, NOT_OUR_SIGNER, CANNOT_BE_SHOWN = 0xF1, 0xF2, 0xF5, 0xF6, 0xF7
LONGEST = 65_536
#: Of the protocol (ControlMessage.version).
VERSION = 8


class ControlProtocol:
    """A connection; `ask` returns the status byte and the members of the answer."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(60 * PATIENCE)
        self.socket.connect(str(path))
        assert self.ask(0x50, {1: VERSION})[0] == OK

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, command, members=None):
        body = cbor2.dumps(members, canonical=True) if members else b""
        self.socket.sendall(bytes([command]) + body)

    def receive(self):
        packet = self.socket.recv(LONGEST + 1)
        return packet[0], cbor2.loads(packet[1:]) if len(packet) > 1 else {}

    def ask(self, command, members=None):
        self.send(command, members)
        return self.receive()

    def signatures(self):
        """Return the number of signatures by Algorand accounts and by association keys."""
        wallets = self.ask(STATUS)[1][WALLETS]
        return wallets[1], wallets[2]
