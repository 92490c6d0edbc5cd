# SPDX-License-Identifier: BSD-2-Clause
"""The checks of `jaxbind.testing`."""
