"""Takes more memory than it may."""

held = []
while True:
    held.append(bytearray(8 << 20))
