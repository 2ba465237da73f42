"""The world: instances, ground truth, policies, tools, and the environments that run them."""
