"""Trajectories in time: steps, drivers, the stepper, branches, the store."""
