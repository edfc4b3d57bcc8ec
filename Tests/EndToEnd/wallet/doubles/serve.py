"""The command line of the double: see Tests/EndToEnd/wallet/serve."""

import argparse
import asyncio
import logging
import os
import pathlib
import signal
import uuid

from .liquid_auth_server import LiquidAuthServer


def port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError(text)
    return number


def directory(text: str) -> pathlib.Path:
    path = pathlib.Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no directory")
    return path


async def serve(options: argparse.Namespace):
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    server = LiquidAuthServer(origin=options.origin, page=options.pages)
    if options.strict:
        server.demands.verification = server.demands.counter = server.demands.address_is_username = True
    try:
        await server.start(options.port)
    except OSError as error:
        raise SystemExit(f"serve: cannot listen on port {options.port}: {os.strerror(error.errno)}") from error
    print(f"the service: {server.address}")
    if options.pages:
        print(f"your pages: {server.address}/page/")
    print(f"a link for the wallet: {server.link(str(uuid.uuid4()))}", flush=True)
    await ended.wait()
    await server.stop()


def main():
    parser = argparse.ArgumentParser(prog="serve", usage="%(prog)s [OPTION...]; see: Tests/EndToEnd/wallet/serve --help", add_help=False)
    parser.add_argument("--port", type=port, default=3000)
    parser.add_argument("--origin")
    parser.add_argument("--pages", type=directory)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    # The requests of HTTP, what the sockets send, and why an answer was refused.
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    asyncio.run(serve(options))


if __name__ == "__main__":
    main()
