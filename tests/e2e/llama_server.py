"""llama.cpp's own server with the embedded model: `python llama_server.py FILE [CONTEXT THREADS]`.

It prints its address and serves until its standard input ends.
"""

import sys
import threading

import xllamacpp

CONTEXT_TOKENS = 4_096
THREADS = 2


def main() -> None:
    """Serve the model in the file that the command line names."""
    file, *numbers = sys.argv[1:]
    context, threads = map(int, numbers) if numbers else (CONTEXT_TOKENS, THREADS)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = file
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = threads
    parameters.endpoint_metrics = True
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
