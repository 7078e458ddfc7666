"""The layers of polyattn.torch.nn: a base, and a file of families for each file of polyattn.library."""
