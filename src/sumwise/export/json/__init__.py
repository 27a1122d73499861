"""JSON documents, by a schema of our own."""
