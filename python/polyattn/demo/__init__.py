"""`python -m polyattn.demo`: a small model over bytes with an attention of a few lines, beside softmax attention.

Both train on the same text for a minute, then read a long one and continue it. The demo needs PyTorch and nothing else.
"""
