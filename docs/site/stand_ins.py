"""The names of transformers that `polyattn.torch.hf` builds on. It reads a signature, which autodoc's own stand-ins have not."""

import types


class GenerationMixin:
    def prepare_inputs_for_generation(self, past_key_values=None):
        pass


class Cache:
    pass


class CacheLayerMixin:
    pass


def modules():
    transformers = types.ModuleType("transformers")
    transformers.GenerationMixin = GenerationMixin
    utilities = types.ModuleType("transformers.cache_utils")
    utilities.Cache, utilities.CacheLayerMixin = Cache, CacheLayerMixin
    return {"transformers": transformers, "transformers.cache_utils": utilities}
