"""Attentions of polyattn.torch beside what a Python user would take; docs/Peers.md says how."""
