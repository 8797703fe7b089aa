"""llama.cpp's own server with the embedded model, as a program: `python llama_server.py FILE`.

It prints its address and serves until its standard input ends.
"""

import sys
import threading

import xllamacpp

CONTEXT_TOKENS = 4_096


def main() -> None:
    """Serve the model in the file that the command line names."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 2
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.ui = False
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    threading.Thread(target=sys.stdin.read).run()


if __name__ == "__main__":
    main()
