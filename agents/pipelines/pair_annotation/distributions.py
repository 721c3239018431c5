"""The distribution of the package index that a missing module comes from.

The libraries that keep such a mapping are no fit: pipreqs pins a release of IPython and takes no Python from
3.13 on, pigar brings a database of 80 MB and a pip of its own. The rule is that a distribution is called
like its module; these are well-known exceptions, each a fact of the package index. What is not here, and is
called otherwise, is left to the language model.
"""

from __future__ import annotations

import re
import sys

_NAMES = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex",
    "Image": "Pillow",
    "MySQLdb": "mysqlclient",
    "OpenGL": "PyOpenGL",
    "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow",
    "Xlib": "python-xlib",
    "absl": "absl-py",
    "apiclient": "google-api-python-client",
    "apt_pkg": "",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "bson": "pymongo",
    "cairo": "pycairo",
    "caffe": "",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "discord": "discord.py",
    "dns": "dnspython",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "github": "PyGithub",
    "gi": "PyGObject",
    "google.cloud.bigquery": "google-cloud-bigquery",
    "google.cloud.storage": "google-cloud-storage",
    "google.protobuf": "protobuf",
    "googleapiclient": "google-api-python-client",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "kafka": "kafka-python",
    "ldap": "python-ldap",
    "magic": "python-magic",
    "memcache": "python-memcached",
    "mpl_toolkits": "matplotlib",
    "nacl": "PyNaCl",
    "osgeo": "GDAL",
    "past": "future",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pylab": "matplotlib",
    "pywintypes": "",
    "ruamel": "ruamel.yaml",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "snappy": "python-snappy",
    "socks": "PySocks",
    "telegram": "python-telegram-bot",
    "tlz": "toolz",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "win32api": "",
    "win32com": "",
    "wx": "wxPython",
    "xdg": "pyxdg",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
"""Distributions by their modules; empty where none can be installed here."""

_OF_PYTHON_2 = frozenset(
    {
        *("BaseHTTPServer", "ConfigParser", "Cookie", "HTMLParser", "Queue", "SocketServer", "StringIO"),
        *(
            "Tkinter",
            "UserDict",
            "cPickle",
            "cStringIO",
            "commands",
            "cookielib",
            "copy_reg",
            "htmlentitydefs",
        ),
        *("httplib", "md5", "robotparser", "sets", "sha", "thread", "tkMessageBox", "urllib2", "urlparse"),
        "xmlrpclib",
    }
)

# Names of the place where a test program runs, which no package can supply.
_OURS = frozenset({"candidate", "test_candidate"})
_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")


def distribution_of(module: str) -> str:
    """Name the distribution that a module is installed by.

    Args:
        module: A module's name, with dots, as a program tried to import it.

    Returns:
        The distribution's name; empty where no installation could bring the module: it belongs to the
        standard library (of this Python or of Python 2), to the program itself, or to another system.
    """
    top = module.partition(".")[0]
    if not _NAME.fullmatch(module) or top in _OURS | _OF_PYTHON_2 or top in sys.stdlib_module_names:
        return ""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        known = _NAMES.get(".".join(parts[:length]))
        if known is not None:
            return known
    return top
