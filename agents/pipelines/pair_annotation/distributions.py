"""The distribution of the package index that a missing module comes from.

The rule is that a distribution is called like its module; these are well-known exceptions, each a fact of the
package index. Any other distribution of another name is left to the bug fixer.

The two libraries that carry a larger mapping are no fit. That of pipreqs names packages for modules such as
`models`, `test`, `colors` and `examples`, which are nearly always of the code's own project, and for many of
its 829 modules several at once; pigar brings a database of 80 MB and a pip of its own. A package that is not
the one that the code means turns "missing" into a false finding, so that a short list is the safer one.
"""

from __future__ import annotations

import re
import sys

_NAMES = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex",
    "Image": "",  # of PIL before it was a package
    "MySQLdb": "mysqlclient",
    "OpenGL": "PyOpenGL",
    "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow",
    "ROOT": "",
    "Xlib": "python-xlib",
    "absl": "absl-py",
    "airflow": "apache-airflow",
    "apiclient": "google-api-python-client",
    "apt_pkg": "",
    "arcpy": "",
    "attr": "attrs",
    "barcode": "python-barcode",
    "bpy": "",
    "bs4": "beautifulsoup4",
    "bson": "pymongo",
    "caffe": "",
    "cairo": "pycairo",
    "can": "python-can",
    "cassandra": "cassandra-driver",
    "community": "python-louvain",
    "consul": "python-consul",
    "cv2": "opencv-python-headless",
    "daemon": "python-daemon",
    "dateutil": "python-dateutil",
    "discord": "discord.py",
    "dns": "dnspython",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "editor": "python-editor",
    "elftools": "pyelftools",
    "enchant": "pyenchant",
    "etcd": "python-etcd",
    "faiss": "faiss-cpu",
    "fitz": "PyMuPDF",
    "gflags": "python-gflags",
    "gi": "PyGObject",
    "git": "GitPython",
    "github": "PyGithub",
    "gitlab": "python-gitlab",
    "google": "",  # of many distributions
    "google.cloud.bigquery": "google-cloud-bigquery",
    "google.cloud.storage": "google-cloud-storage",
    "google.protobuf": "protobuf",
    "googleapiclient": "google-api-python-client",
    "graph_tool": "",
    "hglib": "python-hglib",
    "hou": "",
    "imblearn": "imbalanced-learn",
    "jenkins": "python-jenkins",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "kafka": "kafka-python",
    "ldap": "python-ldap",
    "magic": "python-magic",
    "maya": "",
    "memcache": "python-memcached",
    "mpl_toolkits": "matplotlib",
    "nacl": "PyNaCl",
    "nmap": "python-nmap",
    "novaclient": "python-novaclient",
    "nuke": "",
    "openslide": "openslide-python",
    "osgeo": "GDAL",
    "past": "future",
    "pkg_resources": "setuptools<81",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pylab": "matplotlib",
    "pymel": "",
    "pywintypes": "",
    "pywt": "PyWavelets",
    "pyximport": "Cython",
    "qt": "",
    "rapidjson": "python-rapidjson",
    "rest_framework": "djangorestframework",
    "rospy": "",
    "ruamel": "ruamel.yaml",
    "sane": "python-sane",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "skvideo": "scikit-video",
    "slugify": "python-slugify",
    "snappy": "python-snappy",
    "socks": "PySocks",
    "speech_recognition": "SpeechRecognition",
    "stdnum": "python-stdnum",
    "stl": "numpy-stl",
    "telegram": "python-telegram-bot",
    "tensorflow": "tensorflow-cpu",
    "tlz": "toolz",
    "uinput": "python-uinput",
    "umap": "umap-learn",
    "usb": "pyusb",
    "vcf": "PyVCF3",
    "vlc": "python-vlc",
    "websocket": "websocket-client",
    "win32api": "",
    "win32com": "",
    "wx": "wxPython",
    "xdg": "pyxdg",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
"""Distributions by their modules; empty where none can be installed here."""

_PYTHON_2 = """
anydbm BaseHTTPServer commands ConfigParser Cookie cookielib copy_reg cPickle cStringIO exceptions
htmlentitydefs HTMLParser httplib md5 new Queue robotparser sets sha SimpleHTTPServer SocketServer StringIO
thread Tkinter tkMessageBox urllib2 urlparse UserDict xmlrpclib
"""
_OF_PYTHON_2 = frozenset(_PYTHON_2.split())

_OWN = """
api app apps auth backend backends bar base client common compat conf config configs configuration const
constants consts controllers core data database db decorators defaults demo engine errors example examples
fields foo forms functions globals handler handlers helper helpers internal layers lib libs local_settings log
logger logs losses main managers metrics middleware misc mixins model models module modules my_module
mypackage net network networks node nodes option options package params plotting plugin plugins preprocess
preprocessing project resources routes script scripts serializers server services settings setup shared
signals src tasks tests tool tools train tree urls util utilities utility utils version views visualization
"""
_OWN_MODULES = frozenset(_OWN.split())
"""Names that modules of a project have for its own use. The index has packages of many of these names too."""

# Names of the place where a test program runs, which no package can supply.
_OURS = frozenset({"candidate", "test_candidate", "scaffold"})
_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")


def distribution_of(module: str) -> str:
    """Name the distribution that a module is installed by.

    Args:
        module: A module's name, with dots, as a program tried to import it.

    Returns:
        The distribution's name; empty where no installation could bring the module: it belongs to the
        standard library (of this Python or of Python 2), to the program or the code's own project, or to
        another system.
    """
    top = module.partition(".")[0]
    if not _NAME.fullmatch(module) or top in _OURS | _OF_PYTHON_2 or top in sys.stdlib_module_names:
        return ""
    if is_own_module(top):
        return ""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        known = _NAMES.get(".".join(parts[:length]))
        if known is not None:
            return known
    return top


def is_own_module(name: str) -> bool:
    """Tell whether a name nearly always is that of a module of a project's own."""
    return name.lower().replace("-", "_") in _OWN_MODULES or name.startswith("_")
