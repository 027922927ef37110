"""AdamW steps in plain PyTorch. `lehi bench` compares its AdamW steps with them; the two processes take turns.

    torch_steps.py gpt2|resnet|mnist THREADS      THREADS 0: torch's default

The models use torch.nn and random data: GPT-2 small with its head tied to the embedding on 4 x 64 tokens, ResNet-18 on
batches of 64 images of 32 x 32, and the MLP 784-50-10 on batches of 128. After a first step the program prints "ready
PARAMETERS". Then it reads numbers n, one per line, and prints the seconds of n steps for each.
"""
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        rows, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(rows, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        mask = torch.ones(tokens, tokens, dtype=torch.bool).tril()
        mixed = torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, vocabulary=50257, context=1024, width=768, layers=12, heads=12):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x))).flatten(0, 1)


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(inputs, outputs, stride), Residual(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def make(name):
    """The model and a batch of inputs and targets."""
    if name == "gpt2":
        return GPT2(), torch.randint(0, 50257, (4, 64)), torch.randint(0, 50257, (256,))
    if name == "resnet":
        return resnet18(), torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))
    if name == "mnist":
        mlp = nn.Sequential(nn.Linear(784, 50), nn.ReLU(), nn.Linear(50, 10))
        return mlp, torch.randn(128, 784), torch.randint(0, 10, (128,))
    raise SystemExit(f"there is no model '{name}'; expected gpt2, resnet or mnist")


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    if threads > 0:
        torch.set_num_threads(threads)
    torch.manual_seed(0)
    model, inputs, targets = make(name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-7)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    print("ready", sum(p.numel() for p in model.parameters()), flush=True)
    for line in sys.stdin:
        steps = int(line)
        start = time.perf_counter()
        for _ in range(steps):
            step()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
