"""The ways to give the wallet a link, and the links that it does not follow."""

import json
import pathlib
import random
import shutil
import subprocess
import uuid

import pytest
from judges import vectors
from support import stacks
from support.accounts import PRIVATE, SHARED, on_machine
from support.authenticator import Authenticator, on_terminal
from support.patience import PATIENCE
from support.whole import alike

from .doubles import styled_code, unusual_code
from .doubles.dapp import DApp

FIDO = vectors.load("fido-uri")


def opens(loop, dapp, wallet):
    async def story():
        assert await dapp.opened == "liquid"
        # The channel opens here first: a close before it is open there is a failed connection.
        assert (await dapp.ask("discover"))["networks"]
        await dapp.close()

    loop.run(story())
    assert wallet.end() == 0, wallet.text


@pytest.fixture
def dapp_of(loop, authority):
    def make(server):
        return loop.run(DApp(server, authority.client_context() if server.tls else None).link())

    return make


def test_a_link_to_a_server_below_a_path(key, loop, serve, connect, dapp_of):
    server = serve(path="/liquid")
    dapp = dapp_of(server)
    opens(loop, dapp, connect(key, server.link(dapp.request_id)))


def test_a_link_from_a_picture(key, loop, serve, connect, dapp_of, tmp_path):
    server = serve()
    dapp, picture = dapp_of(server), tmp_path / "-link.png"
    subprocess.run(["qrencode", "-o", str(picture), server.link(dapp.request_id)], check=True, timeout=30 * PATIENCE)
    opens(loop, dapp, connect(key, None, "--image", picture))


LINK = "liquid://host.example/?requestId=abc"
# A frame of a camera: at an angle, uneven, and with the edge of the picture at that of the code.
FRAME = ["-background", "gray40", "-rotate", "7", "-seed", "36", "-attenuate", "0.5", "+noise", "Gaussian", "-blur", "0x0.7"]
# The transparent ones lack their background, and zbarimg alone does not read them.
PICTURES = {
    "inverted.bmp": lambda: unusual_code.inverted_bmp(unusual_code.modules(LINK)),
    "transparent.gif": lambda: unusual_code.transparent_gif(unusual_code.modules(LINK)),
    "frame.jpg": lambda: unusual_code.converted(LINK, "jpg", *FRAME),
    "inverted.jpg": lambda: unusual_code.converted(LINK, "jpg", "-negate"),
    "transparent.webp": lambda: unusual_code.converted(LINK, "webp", "-transparent", "white"),
    "inverted-transparent.webp": lambda: unusual_code.converted(LINK, "webp", "-negate", "-transparent", "black"),
    "inverted.png": lambda: unusual_code.converted(LINK, "png", "-negate"),
}


# Holds: INPUT-9
@pytest.mark.parametrize("name", alike(PICTURES))
def test_a_link_from_an_unusual_picture(shared_key, connect, tmp_path, name):
    """None has a border around its code."""
    picture = tmp_path / name
    picture.write_bytes(PICTURES[name]())
    wallet = connect(nobody(shared_key, tmp_path), None, "--image", picture)
    assert wallet.end() in (1, 2), wallet.text
    assert [event["requestId"] for event in wallet.events if event["event"] == "link"] == ["abc"], wallet.text


HOSTS = ["dapp.example", "auth.dapp.example:8443", "liquid-auth.dapp.example", "localhost:3000", "www.example.co.uk"]


# Holds: INPUT-9
@pytest.mark.whole("50 pictures take minutes; test_a_link_from_a_picture reads one")
@pytest.mark.parametrize("has_background", [True, False], ids=["white", "transparent"])
def test_pictures_in_the_style_of_dapps(shared_key, connect, chromium, tmp_path, has_background):
    """zbarimg itself reads none of the transparent pictures."""
    chance, read = random.Random(22), []
    for number in range(25):
        host = HOSTS[number % 5]
        request_id = str(chance.random() if number % 3 else uuid.UUID(int=chance.getrandbits(128), version=4))
        picture = tmp_path / f"{number}.png"
        link = f"liquid://{host}/?requestId={request_id}"
        picture.write_bytes(styled_code.png(chromium, link, has_background))
        wallet = connect(nobody(shared_key, tmp_path), None, "--image", picture)
        assert wallet.end() in (1, 2), wallet.text
        told = [(event["origin"], event["requestId"]) for event in wallet.events if event["event"] == "link"]
        read.append(told == [(f"https://{host}", request_id)])
    assert read == [True] * 25, read.count(True)


def test_without_tls_on_this_machine_alone(key, loop, serve, connect, dapp_of):
    server = serve(tls=None)
    dapp = dapp_of(server)
    link = server.link(dapp.request_id)
    assert link.startswith("liquid://http://localhost:")
    opens(loop, dapp, connect(key, link))


# Holds: DAPPSERVER-13
def test_a_server_without_tls_behind_a_tls_link(key, serve, connect):
    server = serve(tls=None)
    wallet = connect(key, server.link("one").replace("liquid://http://", "liquid://"))
    assert wallet.end() == 1
    assert "liquid://http://localhost:PORT/" in wallet.text, wallet.text


def test_once_ends_the_wallet_after_one_session(key, loop, serve, connect, dapp_of):
    server = serve()
    dapp = dapp_of(server)
    wallet = connect(key, server.link(dapp.request_id), "--once")

    async def story():
        await dapp.opened
        assert (await dapp.ask("discover"))["networks"]

    loop.run(story())
    assert wallet.end() == 0, wallet.text
    loop.run(dapp.close())


# Holds: INPUT-15
@pytest.mark.parametrize("command, usage", [
    ("help connect", "connect [OPTION...] LINK"), ("connect --help", "connect [OPTION...] LINK"),
    ("help answer", "answer [OPTION...] LINK"), ("help keyri", "keyri <subcommand>"), ("help keyri qr", "keyri qr [<link>]"),
])
def test_help_names_the_typed_command(key, command, usage):
    said = key.run(*command.split()).stdout
    assert f"\nUSAGE: liquid-auth {usage}" in said and "liquid-auth-wallet" not in said


@pytest.fixture
def configuration(tmp_path):
    """Return a function that writes a configuration like an editor under umask 0002, without or with a secret."""
    def make(line, mode):
        path = tmp_path / "wallet.conf"
        path.write_text(line)
        path.chmod(mode)
        return path

    return make


PLAIN, SECRET = ("keyri a = https://a.example KEY", 0o664), ("algod testnet-v1.0 = https://a.example TOKEN", 0o660)
FAILED, NOT_RUNNING = 1, 2


# Holds: INPUT-4
@pytest.mark.parametrize("file", [PLAIN, SECRET], ids=["plain", "secret"])
@pytest.mark.parametrize("accounts", PRIVATE.values(), ids=list(PRIVATE))
def test_a_configuration_writable_by_a_private_group(tmp_path, configuration, file, accounts):
    """The wallet reads it, and then finds no authenticator."""
    key = Authenticator(tmp_path / "key")
    said = key.run("connect", "liquid://a.example/?requestId=1", "--config", configuration(*file), "--control", "/no/where",
                   status=NOT_RUNNING, wrapper=on_machine(tmp_path / "machine", *accounts)).stderr
    assert "wallet.conf" not in said


# Holds: INPUT-4
@pytest.mark.parametrize("file, remedy", [(PLAIN, "chmod go-w"), (SECRET, "chmod 600")], ids=["plain", "secret"])
@pytest.mark.parametrize("accounts", SHARED.values(), ids=list(SHARED))
def test_a_configuration_writable_by_any_other_group(tmp_path, configuration, file, remedy, accounts):
    key, path = Authenticator(tmp_path / "key"), configuration(*file)
    said = key.run("connect", "liquid://a.example/?requestId=1", "--config", path, "--control", "/no/where", status=1,
                   wrapper=on_machine(tmp_path / "machine", *accounts)).stderr
    assert f"; run: {remedy} {path}" in said


class TestAnAuthenticatorWithAnotherSocket:
    """As without XDG_RUNTIME_DIR, for example from cron. The sandbox allows the program to read daemon.lock."""

    CONNECT = ["connect", "liquid://a.example/?requestId=1"]

    @staticmethod
    def reason(key):
        return (f"liquid-auth-wallet: the authenticator runs as process {key.process.pid}, but does not listen at "
                f"{key.state}/control.sock; ")

    @pytest.mark.parametrize("command", [[*CONNECT, "--yes"], ["keyri", "register", "a@b.example"]], ids=["connect", "keyri"])
    def test_is_named(self, shared_key, configuration, command):
        """The exit status is not that of an authenticator that does not run."""
        place = ["--state-dir", shared_key.state, "--config", configuration(PLAIN[0], 0o600)]
        said = shared_key.run(*command, *place, status=FAILED).stderr
        assert self.reason(shared_key) in said and " with --control PATH; " in said

    def test_is_waited_for_once(self, shared_key):
        """The request for the vault's status fails, and the wallet sends no other."""
        status, shown = on_terminal(
            shared_key.command(*self.CONNECT, "--state-dir", str(shared_key.state)), [], shared_key.environment)
        assert status == FAILED and self.reason(shared_key) in shown, shown
        assert "asking the authenticator" not in shown, shown


@pytest.mark.parametrize("command", [
    ["connect", "liquid://a.example/?requestId=1", "--yes"], ["keyri", "register", "a@b.example"],
], ids=["connect", "keyri"])
def test_without_a_vault(key, configuration, command):
    """The exit status is that of `liquid-auth`, and not that of a refusal."""
    key.ask("lock")
    (key.state / "vault").unlink()
    said = key.run(*command, "--control", key.control_socket, "--config", configuration(PLAIN[0], 0o600), status=NOT_RUNNING)
    assert f"there is no vault {key.state}/vault, but its store is there" in said.stderr


class TestFirstUse:
    # Holds: DAPPSERVER-5
    def test_a_new_host_needs_a_terminal_to_confirm(self, key, serve, connect):
        server = serve()
        wallet = connect(key, server.link("one"), is_known=False)
        assert wallet.end() == 4, wallet.text
        assert not server.received and key.signatures() == 0

    # Holds: DAPPSERVER-5
    def test_a_new_host_is_refused(self, key, serve, connect, transcript):
        server = serve()
        command = connect.command(key, server.link("one"), is_known=False)
        status, shown = on_terminal(command, [(r"Sign in at localhost.*\[y/N\] ", "n")], key.environment)
        transcript("new-host", shown)
        assert status == 4 and "nothing was sent to localhost" in shown
        assert "asking the server" not in shown, "it is not, before the answer"
        assert not server.received and key.signatures() == 0

    # Holds: DAPPSERVER-6
    def test_a_locked_vault_is_not_opened_for_a_refused_host(self, key, serve, connect, transcript):
        server = serve()
        key.ask("lock")
        command = connect.command(key, server.link("one"), is_known=False)
        status, shown = on_terminal(command, [(r"vault is locked(.|\n)*localhost(.|\n)*\[y/N\] ", "n")], key.environment)
        transcript("locked-vault", shown)
        assert status == 4 and "the vault stays locked" in shown
        assert not server.received and not key.pinentry.asked()
        assert json.loads(key.ask("status", "--json"))["vault"] == "locked"

    # Holds: DAPPSERVER-6
    def test_a_new_host_is_confirmed_once(self, key, serve, connect):
        server = serve()
        key.ask("lock")
        command = connect.command(key, server.link("one"), "--timeout", "1", is_known=False)
        status, shown = on_terminal(command, [(r"vault is locked(.|\n)*\[y/N\] ", "y")], key.environment)
        assert status == 5 and shown.count("[y/N]") == 1, shown
        assert "check the name" in shown, "that it is the first time is told all the same"
        assert key.signatures() == 1


LINKS = {
    "another scheme": "https://localhost/?requestId=one",
    "no request id": "liquid://localhost/",
    "without TLS to elsewhere": "liquid://http://other.example/?requestId=one",
    "a user before the host": "liquid://localhost@other.example/?requestId=one",
    "no host": "liquid:///?requestId=one",
    "an invalid port": "liquid://localhost:99999/?requestId=one",
    "nothing": "-",
}


class TestLinks:
    # Holds: DAPPSERVER-1
    @pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
    def test_invalid_links_are_not_followed(self, shared_key, connect, link):
        before = shared_key.signatures()
        wallet = connect(shared_key, link, stdin="")
        assert wallet.end() == (64 if link == "-" else 1), wallet.text
        assert len(wallet.text) > 20 and "Error" not in wallet.text, wallet.text
        assert shared_key.signatures() == before

    # Holds: DAPPSERVER-3
    def test_a_browsers_link_is_an_event(self, shared_key, connect):
        wallet = connect(shared_key, FIDO["uris"][0]["uri"])
        assert wallet.end() == 1 and [event["event"] for event in wallet.events] == ["failed"]
        assert "liquid-auth answer" in wallet.events[0]["reason"] and not wallet.said

    # Holds: DAPPSERVER-4
    @pytest.mark.whole("the sandbox of the wallet hides the shared libraries of a debug build")
    @pytest.mark.parametrize("case", FIDO["uris"], ids=lambda case: case["source"][:20])
    def test_a_browsers_link_is_explained(self, shared_key, connect, case):
        done = stacks.run(connect.command(shared_key, case["uri"]), env=shared_key.environment)
        assert done.returncode == 0, done.stderr
        assert case["map"]["0"] in done.stdout and case["map"]["1"] not in done.stdout, "the key, and not the secret"


# Holds: DAPPSERVER-4
def test_the_secret_of_a_browsers_link_is_on_no_command_line(shared_key, tmp_path):
    """`connect` runs `liquid-auth link` to explain it; other users can read a command line."""
    connect, explain = tmp_path / "liquid-auth-wallet", tmp_path / "liquid-auth"
    shutil.copy(pathlib.Path(shared_key.command()[0]).with_name("liquid-auth-wallet"), connect)
    explain.write_text('#!/bin/sh\necho "$*"\ncat\n')
    explain.chmod(0o755)
    link = FIDO["uris"][0]["uri"]
    done = subprocess.run([connect, "connect", "-"], input=link, capture_output=True, text=True, timeout=60 * PATIENCE)
    assert (done.returncode, done.stdout) == (0, f"link\n{link}\n"), done


# Holds: DAPPSERVER-3
def test_wrong_usage_is_an_event(shared_key, connect):
    wallet = connect(shared_key, "liquid://localhost/?requestId=one", "--timeout", "0")
    assert wallet.end() == 64 and not wallet.said
    assert [(event["event"], event["code"]) for event in wallet.events] == [("failed", 64)]
    assert wallet.events[0]["reason"].startswith("the value '0' is invalid for '--timeout <seconds>': ")


def nobody(key, tmp_path):
    """Return a place like a key's where no authenticator listens."""
    made = type("Nobody", (), {})()
    made.control_socket, made.command, made.environment = tmp_path / "nobody.sock", key.command, key.environment
    return made


def test_without_an_authenticator(serve, connect, shared_key, tmp_path):
    server = serve()
    wallet = connect(nobody(shared_key, tmp_path), server.link("one"))
    assert wallet.end() == 2, wallet.text
    assert "liquid-authenticator" in wallet.text and not server.received
