"""Training: from a prepared corpus to a model folder; it needs the extra `train`."""

from alidade.errors import require_package

for package in ("torch", "lightning_fabric", "tensorboard"):
    require_package(package, "train", "training")
