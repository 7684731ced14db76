"""Layouts that a tool which formats disks must not get wrong, and every way to name them to it."""
