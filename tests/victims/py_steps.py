# SPDX-License-Identifier: Apache-2.0
"""A training-shaped Python program on the driver API by ctypes: CDLL gives up the GIL around calls, as frameworks do,
PyDLL keeps it. Usage: py_steps.py CDLL|PyDLL [THREAD]: with THREAD, the steps run on a second Python thread."""
import ctypes
import gc
import sys
import threading

cuda = getattr(ctypes, sys.argv[1])("libcuda.so.1")
MIB = 1 << 20


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status != 0:
        raise SystemExit(f"{name}: error {status}")


class Tensor:
    """Freed when the last reference to it goes, or by the garbage collector."""

    def __init__(self, bytes_):
        self.bytes, self.at = bytes_, ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self.at), ctypes.c_size_t(bytes_))

    def fill(self, value):
        call("cuMemsetD8_v2", self.at, ctypes.c_ubyte(value), ctypes.c_size_t(self.bytes))

    def __del__(self):
        call("cuMemFree_v2", self.at)


def make_weights():
    return [Tensor(4 * MIB) for _ in range(3)]


def forward(weights):
    activations = []
    for i, weight in enumerate(weights):
        activation = Tensor(2 * MIB)
        activation.fill(i)
        weight.fill(i + 1)
        activations.append(activation)
    return activations


def train():
    weights = make_weights()
    for step in range(12):
        activations = forward(weights)
        for activation in reversed(activations):
            activation.fill(9)
        out = (ctypes.c_ubyte * 4)()
        call("cuMemcpyDtoH_v2", out, activations[0].at, ctypes.c_size_t(4))
        print("step", step, bytes(out).hex())
        del activations, activation
        gc.collect()


def main():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    if len(sys.argv) > 2:
        def on_thread():
            call("cuCtxSetCurrent", context)
            train()
        thread = threading.Thread(target=on_thread)
        thread.start()
        thread.join()
    else:
        train()


main()
