"""Writes the source folder of the documentation site: the pages of the repository, and pages made from its sources."""
