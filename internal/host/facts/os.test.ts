import { describe, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixtureHost, type HostFixture } from "../../../test/harness/facts.ts";
import { collectFacts } from "./collect.ts";
import { osFacts, parseOsRelease } from "./os.ts";

const factsOf = async (fixture: HostFixture) =>
  (await collectFacts(osFacts, fixtureHost(fixture), manualClock())).facts;
const release = (text: string, machine = "x86_64"): HostFixture => ({
  files: { "/etc/os-release": text },
  uname: { machine },
});

describe("operating systems", () => {
  const cases: [string, HostFixture, Record<string, unknown>][] = [
    [
      "Debian 12",
      release(
        'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nVERSION="12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\n',
      ),
      {
        os: "Debian",
        os_family: "Debian",
        osfullname: "Debian GNU/Linux",
        osrelease: "12",
        osmajorrelease: 12,
        oscodename: "bookworm",
        osfinger: "Debian-12",
        osarch: "amd64",
      },
    ],
    [
      "Debian unstable, which has no number",
      release('NAME="Debian GNU/Linux"\nVERSION_CODENAME=trixie\nID=debian\n', "aarch64"),
      {
        os: "Debian",
        os_family: "Debian",
        osfullname: "Debian GNU/Linux",
        osrelease: "n/a",
        oscodename: "trixie",
        osfinger: "Debian-n/a",
        osarch: "arm64",
      },
    ],
    [
      "Ubuntu 24.04",
      release(
        'NAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION="24.04.1 LTS (Noble Numbat)"\nVERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\n',
      ),
      {
        os: "Ubuntu",
        os_family: "Debian",
        osfullname: "Ubuntu",
        osrelease: "24.04",
        osmajorrelease: 24,
        oscodename: "noble",
        osfinger: "Ubuntu-24.04",
        osarch: "amd64",
      },
    ],
    [
      "Red Hat Enterprise Linux 9",
      release(
        'NAME="Red Hat Enterprise Linux"\nVERSION="9.4 (Plow)"\nID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.4"\nPRETTY_NAME="Red Hat Enterprise Linux 9.4 (Plow)"\n',
      ),
      {
        os: "RedHat",
        os_family: "RedHat",
        osfullname: "Red Hat Enterprise Linux",
        osrelease: "9.4",
        osmajorrelease: 9,
        oscodename: "Plow",
        osfinger: "Red Hat Enterprise Linux-9",
        osarch: "x86_64",
      },
    ],
    [
      "Rocky 8",
      release(
        'NAME="Rocky Linux"\nVERSION="8.10 (Green Obsidian)"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="8.10"\nPRETTY_NAME="Rocky Linux 8.10 (Green Obsidian)"\n',
        "aarch64",
      ),
      {
        os: "Rocky",
        os_family: "RedHat",
        osfullname: "Rocky Linux",
        osrelease: "8.10",
        osmajorrelease: 8,
        oscodename: "Green Obsidian",
        osfinger: "Rocky Linux-8",
        osarch: "aarch64",
      },
    ],
    [
      "Arch, which rolls",
      release('NAME="Arch Linux"\nPRETTY_NAME="Arch Linux"\nID=arch\nBUILD_ID=rolling\n'),
      {
        os: "Arch",
        os_family: "Arch",
        osfullname: "Arch Linux",
        osrelease: "rolling",
        oscodename: "Arch Linux",
        osfinger: "Arch Linux-rolling",
        osarch: "x86_64",
      },
    ],
    [
      "a system with only ID_LIKE",
      release('NAME="Example Linux"\nID=example\nID_LIKE="unheard rhel"\nVERSION_ID=2\n'),
      {
        os: "Example",
        os_family: "RedHat",
        osfullname: "Example Linux",
        osrelease: "2",
        osmajorrelease: 2,
        oscodename: "Linux",
        osfinger: "Example Linux-2",
        osarch: "x86_64",
      },
    ],
    [
      "a container without os-release",
      {},
      {
        os: "Linux",
        os_family: "Linux",
        osfullname: "Linux",
        osrelease: "n/a",
        oscodename: "",
        osfinger: "Linux-n/a",
        osarch: "x86_64",
      },
    ],
    [
      "macOS",
      {
        platform: "darwin",
        uname: { type: "Darwin", machine: "arm64" },
        files: {
          "/System/Library/CoreServices/SystemVersion.plist":
            "<dict>\n<key>ProductName</key>\n<string>macOS</string>\n<key>ProductVersion</key>\n<string>14.5</string></dict>",
        },
      },
      {
        os: "MacOS",
        os_family: "MacOS",
        osfullname: "macOS",
        osrelease: "14.5",
        osmajorrelease: 14,
        osfinger: "MacOS-14",
        osarch: "arm64",
      },
    ],
  ];
  test.each(cases)("%s", async (_, fixture, expected) => {
    const { lsb_distrib_id, lsb_distrib_release, lsb_distrib_codename, osrelease_info, ...found } =
      await factsOf(fixture);
    expect(found).toEqual(expected as never);
    // What Salt has a second name for, on Linux.
    const { os, osrelease, oscodename } = found;
    const isLinux = fixture.platform !== "darwin" && fixture.uname?.type === undefined;
    expect([lsb_distrib_id, lsb_distrib_release, lsb_distrib_codename]).toEqual(
      isLinux ? [os, osrelease, oscodename] : [undefined, undefined, undefined],
    );
    expect(osrelease_info === undefined).toBe(osrelease === undefined);
  });

  test("the copy in /usr/lib when /etc has none", async () => {
    expect(
      await factsOf({ files: { "/usr/lib/os-release": "ID=fedora\nNAME='Fedora Linux'\n" } }),
    ).toMatchObject({
      os: "Fedora",
      os_family: "RedHat",
    });
  });
});

test("os-release is parsed like shell, without expansion", () => {
  const text =
    '# comment\nA="a \\"quoted\\" \\$word"\nB=\'it\\s\'\n C=plain \nlower=no\nD=\nE="$HOME"\nno equals sign\n';
  expect(parseOsRelease(text)).toEqual({ A: 'a "quoted" $word', B: "it\\s", C: "plain", D: "", E: "$HOME" });
});

test.each([
  ["12", [12]],
  ["24.04", [24, 4]],
  ["3.19.1_alpha", [3, 19, "1_alpha"]],
])("the release %s has parts", async (release, parts) => {
  const files = { "/etc/os-release": `ID=debian\nVERSION_ID="${release}"\n` };
  expect((await factsOf({ files })).osrelease_info).toEqual(parts);
});
