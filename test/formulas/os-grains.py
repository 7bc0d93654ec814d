"""Renews the grains in internal/host/facts/as-salt.json, whose texts of os-release are those of the given file.

Run it with a Python that has Salt 3007: python3 test/formulas/os-grains.py internal/host/facts/as-salt.json
"""

import json
import os
import platform
import sys
import tempfile

import distro
import salt.grains.core as core

KEPT = ("os", "os_family", "osfullname", "osrelease", "osmajorrelease", "oscodename", "osfinger")


def grains_of(text):
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(root + "/etc")
        with open(root + "/etc/os-release", "w") as file:
            file.write(text)
        found = distro.LinuxDistribution(include_lsb=False, root_dir=root)
        named = (found.name(), found.version(best=True), found.codename())
    fields = dict(platform._parse_os_release(text.splitlines()))
    # Salt sees the text instead of this machine.
    core._freedesktop_os_release = lambda: {"NAME": "Linux", "ID": "linux", "PRETTY_NAME": "Linux", **fields}
    core._linux_distribution = lambda: named
    core._linux_lsb_distrib_data = lambda: ({}, True)
    grains = core._linux_distribution_data()
    if grains.get("osrelease", ""):
        grains.update(core._osrelease_data(grains["os"], grains["osfullname"], grains["osrelease"]))
    return {key: grains[key] for key in KEPT if key in grains}


with open(sys.argv[1]) as file:
    cases = json.load(file)
for case in cases:
    case["grains"] = grains_of(case["release"])
with open(sys.argv[1], "w") as file:
    file.write(json.dumps(cases, indent=2, ensure_ascii=False) + "\n")
