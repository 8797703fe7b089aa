import subprocess
import sys


def test_importing_the_plugin_loads_no_engine():
    code = (
        "import sys, nanocoder_provider_local as plugin; "
        "plugin.nanocoder_providers(); plugin.nanocoder_settings(); "
        "print([name for name in ('xllamacpp', 'platformdirs', 'hashlib') if name in sys.modules])"
    )

    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert process.stdout == "[]\n"
