"""The screens: what is shown together, and which key does what."""
