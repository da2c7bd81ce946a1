# SPDX-License-Identifier: Apache-2.0
"""An ordinary PyTorch training script, deterministic, with data it makes up; nothing of Spillway is in it.

Models: gpt2 (124 million weights, 1024 tokens), resnet50 (224 x 224 images), both with AdamW. --memory chooses
PyTorch's own ways to need less: checkpoint (each block is computed twice) or save_on_cpu (what backward needs waits
in pinned host memory). Prints "step N loss X" with all digits, and the median step in milliseconds on stderr.
"""
import argparse
import contextlib
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch  # noqa: E402 (cuBLAS reads the line above when it starts)
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402


class Attention(nn.Module):
    def __init__(self, wide, heads, tokens):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(wide), nn.LayerNorm(wide)
        self.qkv, self.out = nn.Linear(wide, 3 * wide), nn.Linear(wide, wide)
        self.up, self.down = nn.Linear(wide, 4 * wide), nn.Linear(4 * wide, wide)
        self.register_buffer("later", torch.ones(tokens, tokens, dtype=torch.bool).triu(1))

    def forward(self, x):
        batch, tokens, wide = x.shape
        q, k, v = (
            t.view(batch, tokens, self.heads, -1).transpose(1, 2)
            for t in self.qkv(self.before(x)).split(wide, dim=2)
        )
        # Written out: the fused kernels' backward passes are not deterministic everywhere.
        score = (q @ k.transpose(-2, -1)) * (q.shape[-1] ** -0.5)
        score = score.masked_fill(self.later, float("-inf")).softmax(-1)
        x = x + self.out((score @ v).transpose(1, 2).reshape(batch, tokens, wide))
        return x + self.down(F.gelu(self.up(self.between(x)), approximate="tanh"))


class GPT2(nn.Module):
    """Radford et al. 2019, the smallest of the four; the head shares the embedding's weights."""

    def __init__(self, wide=768, heads=12, blocks=12, tokens=1024, words=50257):
        super().__init__()
        self.tokens, self.words = tokens, words
        self.word, self.place = nn.Embedding(words, wide), nn.Embedding(tokens, wide)
        self.blocks = nn.ModuleList(Attention(wide, heads, tokens) for _ in range(blocks))
        self.last = nn.LayerNorm(wide)
        for part in (self.word, self.place):
            nn.init.normal_(part.weight, std=0.02)

    def data(self, batch):
        return torch.randint(self.words, (batch, self.tokens)), torch.randint(self.words, (batch, self.tokens))

    def forward(self, ids, block):
        x = self.word(ids) + self.place.weight
        for one in self.blocks:
            x = block(one, x)
        return F.linear(self.last(x), self.word.weight).flatten(0, 1)


class Bottleneck(nn.Module):
    def __init__(self, into, inner, stride):
        super().__init__()
        out = 4 * inner
        self.way = nn.Sequential(
            nn.Conv2d(into, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out),
        )  # fmt: skip
        self.short = nn.Identity()
        if stride != 1 or into != out:
            self.short = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.way(x) + self.short(x))


class ResNet50(nn.Module):
    """He et al. 2016, with the stride in the 3 x 3 convolution."""

    def __init__(self, repeats=(3, 4, 6, 3), side=224, classes=1000):
        super().__init__()
        self.side, self.classes = side, classes
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        self.blocks, into = nn.ModuleList(), 64
        for stage, count in enumerate(repeats):
            inner = 64 << stage
            for i in range(count):
                self.blocks.append(Bottleneck(into, inner, 2 if i == 0 and stage > 0 else 1))
                into = 4 * inner
        self.head = nn.Linear(into, classes)

    def data(self, batch):
        return torch.randn(batch, 3, self.side, self.side), torch.randint(self.classes, (batch,))

    def forward(self, images, block):
        x = self.stem(images)
        for one in self.blocks:
            x = block(one, x)
        return self.head(x.mean((2, 3)))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=["gpt2", "resnet50"])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--batch", type=int, default=0, help="0: 8 texts, 128 images")
    parser.add_argument("--memory", choices=["plain", "checkpoint", "save_on_cpu"], default="plain")
    parser.add_argument("--device", default="cuda", help="cpu tries the script out")
    parser.add_argument("--tiny", action="store_true", help="a model of seconds on a processor")
    return parser.parse_args()


def main():
    asked = arguments()
    torch.manual_seed(7)
    # Where an operation has no deterministic form it says so; the kit then compares two plain runs first.
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    if asked.model == "gpt2":
        model = GPT2(48, 4, 2, 16, 101) if asked.tiny else GPT2()
    else:
        model = ResNet50((1, 1, 1, 1), 32, 10) if asked.tiny else ResNet50()
    x, y = model.data(asked.batch or (8 if asked.model == "gpt2" else 128))
    model, x, y = model.to(asked.device), x.to(asked.device), y.flatten().to(asked.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    block, saving = (lambda one, x: one(x)), contextlib.nullcontext
    if asked.memory == "checkpoint":
        block = lambda one, x: checkpoint(one, x, use_reentrant=False)  # noqa: E731
    elif asked.memory == "save_on_cpu":
        saving = lambda: torch.autograd.graph.save_on_cpu(pin_memory=asked.device != "cpu")  # noqa: E731
    times = []
    for step in range(asked.steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with saving():
            loss = F.cross_entropy(model(x, block), y)
        loss.backward()
        optimizer.step()
        print(f"step {step + 1} loss {loss.item()!r}", flush=True)
        times.append(time.perf_counter() - start)
    late = sorted(times[len(times) // 2 :])
    print(f"ms {1000 * late[len(late) // 2]:.2f}", file=sys.stderr)


main()
