# SPDX-License-Identifier: Apache-2.0
"""An ordinary PyTorch training script, deterministic, with data it makes up; nothing of Spillway is in it.

    torch_small.py mlp|transformer [STEPS]

Prints "step N loss X" with all digits, and at the end the median step in milliseconds on stderr.
"""
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch  # noqa: E402 (cuBLAS reads the line above when it starts)


def make_mlp():
    wide = 4096
    layers = []
    for _ in range(8):
        layers += [torch.nn.Linear(wide, wide), torch.nn.GELU()]
    return torch.nn.Sequential(*layers), torch.randn(8192, wide)


class Block(torch.nn.Module):
    def __init__(self, wide, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = torch.nn.LayerNorm(wide), torch.nn.LayerNorm(wide)
        self.qkv, self.out = torch.nn.Linear(wide, 3 * wide), torch.nn.Linear(wide, wide)
        self.up, self.down = torch.nn.Linear(wide, 4 * wide), torch.nn.Linear(4 * wide, wide)

    def forward(self, x):
        batch, tokens, wide = x.shape
        q, k, v = (
            t.view(batch, tokens, self.heads, -1).transpose(1, 2)
            for t in self.qkv(self.before(x)).split(wide, dim=2)
        )
        # Written out: the fused kernels' backward passes are not deterministic everywhere.
        score = (q @ k.transpose(-2, -1)) * (q.shape[-1] ** -0.5)
        x = x + self.out((score.softmax(-1) @ v).transpose(1, 2).reshape(batch, tokens, wide))
        return x + self.down(torch.nn.functional.gelu(self.up(self.between(x))))


def make_transformer():
    wide = 512
    return torch.nn.Sequential(*[Block(wide, 8) for _ in range(6)]), torch.randn(16, 512, wide)


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 else "mlp"
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    torch.manual_seed(7)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    model, x = make_mlp() if kind == "mlp" else make_transformer()
    model, x = model.cuda(), x.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    times = []
    for step in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = (model(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        print(f"step {step + 1} loss {loss.item()!r}", flush=True)
        times.append(time.perf_counter() - start)
    late = sorted(times[len(times) // 2 :])
    print(f"ms {1000 * late[len(late) // 2]:.2f}", file=sys.stderr)


main()
