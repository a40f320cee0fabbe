"""xgrammar's modules of kernels, a function each. All apply masks by grammask's kernel for the device of the logits."""
