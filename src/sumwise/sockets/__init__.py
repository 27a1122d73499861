"""Peers that are connected by sockets of TCP, with or without TLS."""
