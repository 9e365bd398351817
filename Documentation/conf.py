# SPDX-License-Identifier: GPL-2.0
# How Sphinx makes HTML and man pages of these documents ("make docs").
import pathlib
import re
import sys

from sphinx.writers.manpage import ManualPageTranslator

kbuild = (pathlib.Path(__file__).parent.parent / 'Kbuild').read_text()
sys.path.insert(0, str(pathlib.Path(__file__).parent))
extensions = ['kernel_doc']
project = 'rpcrdma-v2'
copyright = 'the rpcrdma-v2 authors, GPL-2.0'
version = release = re.search(r'^version := (\S+)', kbuild, re.M).group(1)
root_doc = 'index'
exclude_patterns = ['_build']
html_theme = 'alabaster'
html_copy_source = False
man_pages = [
    ('installation', 'rpcrdma-v2', 'installing RPC-over-RDMA version 2', '', 7),
    ('administration', 'rpcrdma-v2-administration', 'running RPC-over-RDMA version 2', '', 7),
    ('settings', 'rpcrdma-v2-settings', 'settings of rpcrdma.ko', '', 7),
    ('rpcrdma-ping', 'rpcrdma-ping', 'tries RPC-over-RDMA to a host', '', 8),
    ('rpcrdma-ctl', 'rpcrdma-ctl', 'shows and manages RPC-over-RDMA', '', 8),
    ('library', 'librpcrdma2', 'RPC-over-RDMA versions 1 and 2 for programs', '', 7),
]


class ManTranslator(ManualPageTranslator):
    """Tables are set ragged: groff 1.23 warns of each column that is too narrow to adjust."""

    def visit_table(self, node):
        self.ensure_eol()
        self.body.append('.ad l\n')
        super().visit_table(node)


def setup(app):
    app.set_translator('man', ManTranslator)
