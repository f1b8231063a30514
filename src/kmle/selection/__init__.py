"""Choosing among mixtures, and what is certain about the one chosen."""

from .certificates import SeedingCertificate, certify, seeding_certificate

__all__ = ["SeedingCertificate", "certify", "seeding_certificate"]
