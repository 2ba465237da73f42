"""The parts of the screens: one small file each, drawing lines and reporting keys, with no logic of their own."""
