"""What training minimises, as one module: a system's features, through its output layers, to its losses.

`Objective` is a module of its own because all that depends on weights has to happen inside `forward`, where Lightning
Fabric sees it: mixed precision and the exchange of gradients between processes hang on that.

The logits of a batch are the largest tensor of training: 4,096 tokens times 32,000 pieces are half a gigabyte,
and a plain cross entropy holds them three times (logits, log-softmax, gradient). `token_loss` makes them a chunk of
rows at a time; they become their own gradient in place and are gone before the next chunk. What is kept is the
gradient of the features, of the output layer's weight and of its bias.

With smoothing s, the loss of a token with logits z and target t is (1 - s) * nll + s * uniform, where

    nll     = logsumexp(z) - z_t
    uniform = logsumexp(z) - mean(z)

so the log-sum-exp, the target's logit and the mean logit are enough. The mean logit is linear in the features:
it is one product with the mean row of the weight.

With `training.consistency` (R-Drop, Liang et al. 2021) every batch is read twice, and dropout makes two predictions p
and q of each token. To the mean of both losses comes half of consistency * (KL(p || q) + KL(q || p)) / 2.

Dimensions: N real target tokens, D width of the features, V classes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from alidade.config import TrainingSettings
from alidade.hardware import has_onednn, multiply, multiply_matrices
from alidade.models.batch import Batch
from alidade.models.layers import Linear
from alidade.models.system import Role, System

CHUNK_LOGITS = 2**23
"""Logits in one chunk: 32 MB of float32. Smaller chunks make slow matrix products, larger ones leave the cache."""
SMALLEST_CHUNK = 512
"""Rows of a chunk at least, so that the matrix products stay efficient for large vocabularies."""


class Objective(nn.Module):
    """The losses of some roles of a system; the others are frozen."""

    def __init__(
        self, system: System, roles: Collection[Role], label_smoothing: float, consistency: float = 0.0
    ) -> None:
        super().__init__()
        self.system = system
        self.trained_roles = tuple(role for role in system.roles if role in roles)
        self.label_smoothing = label_smoothing
        self.consistency = consistency
        for role, model in system.roles.items():
            if role not in roles:
                model.requires_grad_(False)

    def train(self, mode: bool = True) -> Objective:
        """A frozen model never drops out."""
        super().train(mode)
        for role, model in self.system.roles.items():
            if role not in self.trained_roles:
                model.eval()
        return self

    def forward(self, *batch: Any) -> dict[Role, Tensor]:
        """(3,) for each trained role, summed over the batch's tokens: loss, negative log-likelihood, correct ones.

        batch: the fields of a `Batch`. Fabric walks through the arguments and results of modules, and does not
        accept frozen dataclasses there.
        """
        once = Batch(*batch)
        read = once.twice() if self.consistency else once
        sums = role_losses(self.system, read, self.trained_roles, self.label_smoothing, self.consistency)
        times = read.num_target_tokens / once.num_target_tokens
        return {role: torch.stack([loss.loss, loss.nll, loss.num_correct]) / times for role, loss in sums.items()}


def role_losses(
    system: System, batch: Batch, roles: Collection[Role], label_smoothing: float = 0.0, consistency: float = 0.0
) -> dict[Role, TokenLoss]:
    """The loss of each of these roles on a batch; with consistency, one that holds each sentence pair twice."""
    losses: dict[Role, TokenLoss] = {}
    for role, features in system(batch, roles).items():
        model: Any = system.roles[role]
        output: Linear = model.output
        if torch.is_grad_enabled():
            features = features.to(output.factors)
        targets = model.targets(batch)
        if consistency:
            features, targets = _side_by_side(features), _side_by_side(targets)
        losses[role] = token_loss(features, output.weight, output.bias, targets, label_smoothing, consistency)
    return losses


def _side_by_side(x: Tensor) -> Tensor:
    """The two readings of each token next to each other, where the second reading stood after the first: (2N, ...)."""
    return torch.stack(x.chunk(2), dim=1).flatten(0, 1)


@dataclass(frozen=True, slots=True)
class TokenLoss:
    """Sums over the N tokens of a batch, each a scalar tensor."""

    loss: Tensor
    """Label-smoothed cross entropy; this one has a gradient."""
    nll: Tensor
    """Negative log-likelihood, natural logarithm: exp(nll / N) is the perplexity."""
    num_correct: Tensor
    """Tokens whose target has the highest logit."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How one role did on some tokens, in plain numbers."""

    nll: float
    """Negative log-likelihood, summed over the tokens."""
    num_correct: float
    num_tokens: int

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.nll + other.nll, self.num_correct + other.num_correct, self.num_tokens + other.num_tokens)

    @property
    def loss(self) -> float:
        """Negative log-likelihood of a token."""
        return self.nll / self.num_tokens

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))  # beyond that it is no float any more

    @property
    def accuracy(self) -> float:
        """Share of the tokens that the model finds most likely."""
        return self.num_correct / self.num_tokens


def figures_of(tallies: Mapping[Role, Tally]) -> dict[str, float]:
    """What is shown and logged of each role, by name."""
    return {
        f"{role}.{name}": getattr(tally, name) for role, tally in tallies.items() for name in ("perplexity", "accuracy")
    }


def token_loss(
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    smoothing: float = 0.0,
    consistency: float = 0.0,
) -> TokenLoss:
    """The loss of predicting `targets` (N,) from `features` (N, D) by an output layer of V classes.

    weight: (V, D). bias: (V,), or None. consistency: how much it costs if rows 0 and 1, 2 and 3, ... predict otherwise.
    Without gradients enabled, none are computed.
    """
    loss, nll, num_correct = _SmoothedCrossEntropy.apply(features, weight, bias, targets, smoothing, consistency)  # type: ignore[no-untyped-call]  # torch has no types for it
    return TokenLoss(loss, nll, num_correct)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Computes its gradients in the forward pass, while each chunk of logits is at hand."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        consistency: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        layer = _OutputLayer(features.detach(), weight.detach(), None if bias is None else bias.detach())
        gradients = _Gradients(layer, smoothing) if any(ctx.needs_input_grad) else None
        sums = torch.zeros(3, dtype=weight.dtype, device=weight.device)
        for rows in _chunks(*layer.shape):
            sums += _chunk_loss(layer, rows, targets[rows], smoothing, consistency, gradients)
        if gradients is not None:
            gradients.add_uniform_part()
            ctx.save_for_backward(gradients.features, gradients.weight, gradients.bias)
        loss, nll, num_correct = (total.clone() for total in sums)
        ctx.mark_non_differentiable(nll, num_correct)
        return loss, nll, num_correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_loss: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        features, weight, bias = ctx.saved_tensors
        return features * grad_loss, weight * grad_loss, None if bias is None else bias * grad_loss, None, None, None


class _OutputLayer:
    """The features of a batch and the layer that turns them into logits.

    Products are made in the features' precision, everything else in the weight's (under bfloat16 training
    the features are bfloat16, the weight float32).
    """

    def __init__(self, features: Tensor, weight: Tensor, bias: Tensor | None) -> None:
        self.features = features
        self.weight = weight
        self.factor = weight.to(features.dtype)
        self.bias = bias

    @property
    def shape(self) -> tuple[int, int]:
        """N tokens, V classes."""
        return len(self.features), len(self.weight)

    def logits(self, rows: slice) -> Tensor:
        """(rows, V)"""
        if _is_quick(self.features):
            return multiply(self.features[rows], self.factor, self.bias)
        logits = multiply_matrices(self.features[rows], self.factor.T).to(self.weight.dtype)
        return logits if self.bias is None else logits.add_(self.bias)

    def mean_logit(self, rows: slice) -> Tensor:
        """(rows,) the mean over all classes, without looking at the logits."""
        mean = self.features[rows].to(self.weight.dtype) @ self.weight.mean(0)
        return mean if self.bias is None else mean + self.bias.mean()


class _Gradients:
    """Gradients of the summed loss, filled chunk by chunk."""

    def __init__(self, layer: _OutputLayer, smoothing: float) -> None:
        self._layer = layer
        self._smoothing = smoothing
        self.features = torch.empty_like(layer.features)
        self.weight = torch.zeros_like(layer.weight)
        self.bias = None if layer.bias is None else torch.zeros_like(layer.bias)

    def add_chunk(self, rows: slice, logits_gradient: Tensor) -> None:
        """Take in the gradient of a chunk's logits, softmax - (1 - s) * [target], without the uniform part."""
        if self.bias is not None:
            self.bias += logits_gradient.sum(0)
        features = self._layer.features[rows]
        gradient = logits_gradient.to(features.dtype)
        if _is_quick(gradient):
            self.features[rows] = multiply(gradient, self._layer.factor.T)
        else:
            self.features[rows] = multiply_matrices(gradient, self._layer.factor)
        if features.dtype == self.weight.dtype:
            self.weight.addmm_(gradient.T, features)
        else:
            self.weight += multiply_matrices(gradient.T, features)

    def add_uniform_part(self) -> None:
        """Smoothing takes s / V from the gradient of every logit: here once for all logits, by linearity."""
        layer = self._layer
        share = self._smoothing / len(layer.weight)
        self.features -= (share * layer.weight.sum(0)).to(self.features.dtype)
        self.weight -= share * layer.features.sum(0, dtype=self.weight.dtype)
        if self.bias is not None:
            self.bias -= share * len(layer.features)


def _is_quick(x: Tensor) -> bool:
    """Whether oneDNN is to multiply this; bfloat16 goes to it by way of torch's own products."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and has_onednn()


def _chunk_loss(
    layer: _OutputLayer,
    rows: slice,
    targets: Tensor,
    smoothing: float,
    consistency: float,
    gradients: _Gradients | None,
) -> Tensor:
    """(3,) the sums of a chunk: loss, negative log-likelihood, correct tokens."""
    with torch.autocast(layer.weight.device.type, enabled=False):
        logits = layer.logits(rows)
        gaps = logits[::2] - logits[1::2] if consistency else None
        targets = targets.unsqueeze(1)
        target_logit = logits.gather(1, targets).squeeze(1)
        largest_logit = logits.amax(1)
        softmax = torch.softmax(logits, 1, out=logits)
        # The largest probability is at least 1 / V, so its logarithm is safe.
        normaliser = largest_logit - softmax.amax(1).log()
        nll = normaliser - target_logit
        uniform = normaliser - layer.mean_logit(rows)
        divergence = nll.new_zeros(())
        if gaps is not None:
            divergence = _add_divergence(softmax, gaps, normaliser[::2] - normaliser[1::2], consistency / 2)
        if gradients is not None:
            softmax.scatter_add_(1, targets, softmax.new_full(targets.shape, smoothing - 1))
            gradients.add_chunk(rows, softmax)
        loss = torch.lerp(nll, uniform, smoothing)
        is_correct = (target_logit == largest_logit).to(loss.dtype)
        return torch.stack([loss.sum() + divergence, nll.sum(), is_correct.sum()])


def _add_divergence(softmax: Tensor, gaps: Tensor, shifts: Tensor, factor: float) -> Tensor:
    """factor * (KL(p || q) + KL(q || p)), summed over pairs of rows p and q of softmax, (2N, V).

    gaps: (N, V), the logits of p less those of q, and used up; shifts: (N,), what log p - log q is less than that. What
    the divergence adds to the gradient of each logit, factor * (p * (log p - log q - KL(p || q) + 1) - q) for p, is
    added to softmax, which is to become that gradient: in few steps, since all of them wait for memory.
    """
    p, q = softmax[::2], softmax[1::2]
    of_p = _dot(p, gaps) - shifts
    of_q = shifts - _dot(q, gaps)
    gaps *= factor
    new_p = (gaps + (1 + factor * (1 - of_p - shifts)).unsqueeze(1)).mul_(p).sub_(q, alpha=factor)
    torch.sub((1 + factor * (1 - of_q + shifts)).unsqueeze(1), gaps, out=gaps)
    q.mul_(gaps).sub_(p, alpha=factor)
    p.copy_(new_p)
    return factor * (of_p.sum() + of_q.sum())


def _dot(x: Tensor, y: Tensor) -> Tensor:
    """(N,) the products of rows of x and y, (N, V)."""
    return torch.bmm(x.unsqueeze(1), y.unsqueeze(2)).flatten()


def _chunks(num_rows: int, num_classes: int) -> list[slice]:
    size = max(SMALLEST_CHUNK, CHUNK_LOGITS // num_classes) // 2 * 2  # pairs of rows stay together
    return [slice(start, start + size) for start in range(0, num_rows, size)]


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """The learning rate of update number `step`, counted from 1: a pure function, so that a resumed run needs no state.

    It rises linearly to its peak during the warm-up; then it falls with the inverse square root of the step, or
    stays. In the cool-down, the last updates, it goes on linearly from there to (almost) nothing.
    """
    rise = min(step / settings.warmup, 1.0)
    left = min((settings.steps + 1 - step) / (settings.cooldown + 1), 1.0)
    if settings.schedule == "constant":
        return settings.learning_rate * rise * left
    return settings.learning_rate * min(rise, math.sqrt(settings.warmup / step)) * left
