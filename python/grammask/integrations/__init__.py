"""What connects grammask to other libraries: a file each, imported only where the library is."""
