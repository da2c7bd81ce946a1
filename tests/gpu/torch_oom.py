# SPDX-License-Identifier: Apache-2.0
"""Plain PyTorch, some 20 GiB: ends in out of memory on a card with 12 GiB free, and trains there under Spillway."""
import sys

import torch

device, wide, rows = sys.argv[1] if len(sys.argv) > 1 else "cuda", 4096, 16384
if device == "cpu":  # to try the script out
    wide, rows = 64, 32
torch.manual_seed(7)
model = torch.nn.Sequential(
    *[torch.nn.Sequential(torch.nn.Linear(wide, wide), torch.nn.GELU()) for _ in range(24)]
).to(device)
x = torch.randn(rows, wide, device=device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(12):
    optimizer.zero_grad(set_to_none=True)
    loss = (model(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    print(f"step {step + 1} loss {loss.item()!r}", flush=True)
