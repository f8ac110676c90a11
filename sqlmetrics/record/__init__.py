"""Records of results: versions, settings, sources and fingerprints."""
