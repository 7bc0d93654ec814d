import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { writeDeb } from "../../release/deb.ts";
import { describePackage } from "../../release/package.ts";
import { writeTar } from "../../release/tar.ts";
import { runProgram } from "../harness/process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

const files = temporaryDirectory("packages");
afterAll(() => files[Symbol.dispose]());

const arch = { deb: "amd64", rpm: "x86_64" } as const;
const time = 1_700_000_000;
const program = Buffer.from("#!/bin/sh\necho hello\n");
const daemons = ["svc-master", "svc-peel"] as const;

async function debOf(name: "svc" | (typeof daemons)[number], version = "1.2.3"): Promise<Uint8Array> {
  return writeDeb(await describePackage(name, version, arch, program, time), time);
}

/** Runs a program that must succeed. */
async function output(...command: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(command, { env: { TZ: "UTC", LC_ALL: "C" } });
  expect(`${code} ${stderr}`).toBe("0 ");
  return stdout;
}

/** The parts of a package as any ar and tar take them apart. */
async function takeApart(name: "svc" | (typeof daemons)[number]): Promise<(part: string) => string> {
  const dir = join(files.path, `apart-${name}`);
  mkdirSync(dir);
  const bytes = Buffer.from(await debOf(name));
  expect(bytes.toString("latin1", 0, 8)).toBe("!<arch>\n");
  for (let at = 8; at < bytes.length; ) {
    const size = Number(bytes.toString("latin1", at + 48, at + 58));
    writeFileSync(
      join(dir, bytes.toString("latin1", at, at + 16).trim()),
      bytes.subarray(at + 60, at + 60 + size),
    );
    at += 60 + size + (size % 2);
  }
  expect(readdirSync(dir).sort()).toEqual(["control.tar.gz", "data.tar.gz", "debian-binary"]);
  return (part) => join(dir, part);
}

test("a package of a daemon holds its program, its unit, an example and its manual, all of root, and nothing in /etc", async () => {
  const part = await takeApart("svc-peel");
  expect(readFileSync(part("debian-binary"), "utf8")).toBe("2.0\n");
  const listed = await output("tar", "-tvzf", part("data.tar.gz"), "--full-time");
  expect(
    listed
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(/ +/g, " ")),
  ).toEqual([
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/bin/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/lib/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/lib/systemd/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/lib/systemd/system/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/share/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/share/doc/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/share/doc/svc-peel/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/share/doc/svc-peel/examples/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/share/man/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/share/man/man5/",
    "drwxr-xr-x root/root 0 2023-11-14 22:13:20 ./usr/share/man/man8/",
    "-rwxr-xr-x root/root 21 2023-11-14 22:13:20 ./usr/bin/svc-peel",
    expect.stringMatching(/^-rw-r--r-- root\/root \d+ .* \.\/usr\/lib\/systemd\/system\/svc-peel\.service$/),
    expect.stringMatching(
      /^-rw-r--r-- root\/root \d+ .* \.\/usr\/share\/doc\/svc-peel\/examples\/peel\.yaml$/,
    ),
    expect.stringMatching(
      /^-rw-r--r-- root\/root \d+ .* \.\/usr\/share\/doc\/svc-peel\/examples\/join\.conf$/,
    ),
    expect.stringMatching(/^-rw-r--r-- root\/root \d+ .* \.\/usr\/share\/man\/man8\/svc-peel\.8\.gz$/),
    expect.stringMatching(/^-rw-r--r-- root\/root \d+ .* \.\/usr\/share\/man\/man5\/svc-peel\.yaml\.5\.gz$/),
  ]);
  const control = await output("tar", "-xzOf", part("control.tar.gz"), "./control");
  expect(control).toStartWith("Package: svc-peel\nVersion: 1.2.3\nArchitecture: amd64\n");
  expect(await output("tar", "-xzOf", part("control.tar.gz"), "./md5sums")).toStartWith(
    `${createHash("md5").update(program).digest("hex")}  usr/bin/svc-peel\n`,
  );
});

test("the package of the command holds its manual and its completion where each format has them", async () => {
  const { files: own, placed } = await describePackage("svc", "1.2.3", arch, program, time);
  const paths = own.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      "/usr/bin/svc",
      "/usr/share/bash-completion/completions/svc",
      "/usr/share/fish/vendor_completions.d/svc.fish",
      "/usr/share/man/man1/svc.1.gz",
      "/usr/share/man/man1/svc-run.1.gz",
      "/usr/share/man/man5/svc.yaml.5.gz",
    ]),
  );
  expect(placed.deb.map(({ path }) => path)).toEqual(["/usr/share/zsh/vendor-completions/_svc"]);
  expect(placed.rpm.map(({ path }) => path)).toEqual(["/usr/share/zsh/site-functions/_svc"]);
  const part = await takeApart("svc");
  const listed = await output("tar", "-tzf", part("data.tar.gz"));
  for (const path of [...paths, "/usr/share/zsh/vendor-completions/_svc"]) {
    expect(listed).toContain(`.${path}\n`);
  }
  const page = await output("tar", "-xzOf", part("data.tar.gz"), "./usr/share/man/man1/svc-run.1.gz");
  expect(page).toStartWith("\u001f");
  const written = own.find(({ path }) => path === "/usr/share/man/man1/svc-run.1.gz")?.data ?? Buffer.of();
  expect(gunzipSync(written).toString()).toStartWith(".TH SVC\\-RUN 1 2023-11-14 ");
});

test("the same files give the same bytes, and another version others", async () => {
  expect(Buffer.compare(await debOf("svc-master"), await debOf("svc-master"))).toBe(0);
  expect(Buffer.compare(await debOf("svc-master"), await debOf("svc-master", "1.2.4"))).not.toBe(0);
});

test("a path that an archive cannot hold is refused", () => {
  const path = `./${"a".repeat(98)}`;
  expect(() => writeTar([{ path, mode: 0o644, data: new Uint8Array() }], time)).toThrow("is too long");
});

test("every script is sound shell, and none removes data or changes what is there", async () => {
  for (const name of daemons) {
    const { scripts, scriptlets } = await describePackage(name, "1.2.3", arch, program, time);
    expect(Object.keys(scripts)).toEqual(["postinst", "prerm", "postrm"]);
    for (const [kind, text] of Object.entries({ ...scripts, ...scriptlets })) {
      const file = join(files.path, `${name}-${kind}`);
      writeFileSync(file, text);
      await output("sh", "-n", file);
      expect(text).not.toMatch(/rm -\w*r|chown|chmod|userdel/);
      // Nothing is removed but configuration, at a purge.
      expect(text.match(/\brm .*/g) ?? []).toEqual(
        kind === "postrm"
          ? [
              `rm -f /etc/svc/${name.slice(4)}.yaml /etc/systemd/system/multi-user.target.wants/${name}.service`,
            ]
          : [],
      );
    }
  }
});

test("the units run the packaged program with the packaged places", async () => {
  const unitOf = async (name: (typeof daemons)[number]) =>
    (await describePackage(name, "1.2.3", arch, program, time)).files
      .map(({ data }) => Buffer.from(data).toString())
      .find((text) => text.includes("[Unit]"));
  expect(await unitOf("svc-master")).toContain(
    "\nUser=svc-master\nExecStart=/usr/bin/svc-master --config /etc/svc/master.yaml\nEnvironment=SVC_DATA_DIR=/var/lib/svc\n",
  );
  expect(await unitOf("svc-master")).toContain("\nProtectHome=yes\nPrivateTmp=yes\n");
  expect(await unitOf("svc-peel")).toContain("\nConditionPathExists=/etc/svc/peel.yaml\n");
  expect(await unitOf("svc-peel")).toContain("\nEnvironment=SVC_DATA_DIR=/var/lib/svc-peel\n");
});

// Elsewhere nothing reads the format; test/e2e/packages.sh walks through all of it on a Debian.
if (Bun.which("dpkg") !== null) {
  test("dpkg installs, upgrades and removes the command in a directory", async () => {
    const root = join(files.path, "root");
    mkdirSync(join(root, "var/lib/dpkg/updates"), { recursive: true });
    mkdirSync(join(root, "var/lib/dpkg/info"));
    writeFileSync(join(root, "var/lib/dpkg/status"), "");
    const dpkg = async (...args: string[]) => {
      const command = [
        "dpkg",
        `--root=${root}`,
        "--force-not-root,depends,architecture,bad-path",
        "--log=/dev/null",
        ...args,
      ];
      const { code, stderr } = await runProgram(command, { env: { LC_ALL: "C" } });
      expect(code === 0 ? "" : stderr).toBe("");
    };
    for (const version of ["1.2.3", "1.2.4"]) {
      const deb = join(files.path, `svc-${version}.deb`);
      // Only the package without scripts: those of the others would run outside of the directory's programs.
      writeFileSync(deb, await debOf("svc", version));
      await dpkg("--install", deb);
      expect(readFileSync(join(root, "usr/bin/svc"))).toEqual(program);
      expect(await output("dpkg-query", `--admindir=${root}/var/lib/dpkg`, "-W")).toBe(`svc\t${version}\n`);
    }
    await dpkg("--verify", "svc");
    await dpkg("--purge", "svc");
    expect(readdirSync(root)).not.toContain("usr");
  });
}
