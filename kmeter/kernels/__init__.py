"""What is read out of compiled kernels and profiler exports. These are files from elsewhere: sizes are
checked before they are believed, and nothing in them is ever executed.
"""
