"""What machine the figures of a bench are from."""

import os
import pathlib
import platform


def machine():
    """CPU, number of CPUs and kernel of this machine."""
    model = "CPU"
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    virtual = " (virtual machine)" if "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text() else ""
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{model}, {os.cpu_count()} CPUs{virtual}, Linux {kernel}"
