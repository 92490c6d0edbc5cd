# SPDX-License-Identifier: BSD-2-Clause
"""Ready-made operators under their old names."""
