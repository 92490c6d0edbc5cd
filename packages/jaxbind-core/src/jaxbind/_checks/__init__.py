# SPDX-License-Identifier: BSD-2-Clause
"""The parts of `jaxbind.testing`, one question each."""
