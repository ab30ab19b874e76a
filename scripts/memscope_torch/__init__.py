# SPDX-License-Identifier: GPL-3.0-or-later
"""What `memscope capture` puts into a program that uses PyTorch: it follows the steps and writes down their memory."""
