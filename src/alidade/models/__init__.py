"""The models in torch: what is trained; they need the extra `train`."""

from alidade.errors import require_package

require_package("torch", "train", "a model in torch")
