"""What `make bench` measures and how it is shown."""
