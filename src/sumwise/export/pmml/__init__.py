"""PMML documents."""
