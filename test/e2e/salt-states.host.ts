import { expect, setDefaultTimeout, test } from "bun:test";
import { hostTimeoutMs, openPrivateRoot, type PrivateRoot } from "../harness/private-root.ts";
import { brief, output, roundTrip } from "../harness/state-trips.ts";
import { makeRepository } from "../harness/stub-packages.ts";

setDefaultTimeout(hostTimeoutMs);

test("alternatives of a name", async () => {
  await using root = await openPrivateRoot();
  const there = `
svc-test-editor:
  alternatives.install:
    - link: /usr/bin/svc-test-editor
    - path: /bin/cat
    - priority: 30
better:
  alternatives.install:
    - name: svc-test-editor
    - link: /usr/bin/svc-test-editor
    - path: /bin/ls
    - priority: 40
chosen:
  alternatives.set: [{name: svc-test-editor}, {path: /bin/cat}]
`;
  const gone = `
chosen:
  alternatives.remove: [{name: svc-test-editor}, {path: /bin/cat}]
better:
  alternatives.remove: [{name: svc-test-editor}, {path: /bin/ls}]
`;
  const probe = "readlink /etc/alternatives/svc-test-editor";
  expect(await brief(root, there, { test: true })).toBe("svc-test-editor:null+ better:null+ chosen:null+");
  expect(await output(root, probe)).toBe("");
  expect(await brief(root, there)).toBe("svc-test-editor:true+ better:true+ chosen:true+");
  expect(await output(root, probe)).toBe("/bin/cat");
  expect(await brief(root, there)).toBe("svc-test-editor:true better:true chosen:true");
  const auto = "svc-test-editor:\n  alternatives.auto: []\n";
  expect(await brief(root, auto)).toBe("svc-test-editor:true+");
  expect(await output(root, probe)).toBe("/bin/ls");
  expect(await brief(root, auto)).toBe("svc-test-editor:true");
  expect(await brief(root, gone)).toBe("chosen:true+ better:true+");
  expect(await brief(root, gone)).toBe("chosen:true better:true");
  expect(await output(root, probe)).toBe("");
});

test("a repository of apt with its key, from which apt then installs", async () => {
  await using root = await openPrivateRoot();
  await makeRepository(root, [{ name: "svc-test-hello" }]);
  const key = await signRepository(root);
  const lines = key
    .trim()
    .split("\n")
    .map((line) => `        ${line}`)
    .join("\n");
  const repository = (file: string) => `
deb [signed-by=/etc/apt/keyrings/svc-test.gpg] file:/srv/repository ./:
  pkgrepo.managed:
    - file: /etc/apt/sources.list.d/${file}
    - key_text: |
${lines}
`;
  const install = `${repository("svc-test.list")}
svc-test-hello:
  pkg.installed:
    - require: [{pkgrepo: "deb [signed-by=/etc/apt/keyrings/svc-test.gpg] file:/srv/repository ./"}]
`;
  const name = "deb [signed-by=/etc/apt/keyrings/svc-test.gpg] file:/srv/repository ./";
  expect(await brief(root, install, { test: true })).toBe(`${name}:null+ svc-test-hello:null+`);
  expect(await output(root, "ls /etc/apt/keyrings/svc-test.gpg")).toContain("No such file");
  expect(await brief(root, install)).toBe(`${name}:true+ svc-test-hello:true+`);
  expect(await brief(root, install)).toBe(`${name}:true svc-test-hello:true`);
  expect(await output(root, "dpkg -s svc-test-hello | grep Status")).toBe("Status: install ok installed");
  // Another key is not accepted, and the state says so.
  await output(
    root,
    "rm -r /var/lib/apt/lists; mkdir -p /var/lib/apt/lists/partial; gpg --homedir /srv/keys --batch --yes --armor --export other@example.com >/srv/other",
  );
  const other = `${name.replace("svc-test.gpg", "other.gpg")}:\n  pkgrepo.managed:\n    - key_url: /srv/other\n    - file: /etc/apt/sources.list.d/svc-test.list\n`;
  const [refused] = await root.apply(other);
  expect(refused).toMatchObject({ result: false, comment: expect.stringMatching(/NO_PUBKEY|not signed/) });
  await output(root, "rm /etc/apt/sources.list.d/*");
  const there = repository("svc-test.sources").replace(".gpg", ".asc").replace(".gpg", ".asc");
  const named = name.replace(".gpg", ".asc");
  const gone = `${named}:\n  pkgrepo.absent: []\n`;
  const seen = await roundTrip(root, { there, gone, ids: [named] }, "cat /etc/apt/sources.list.d/*; true");
  expect(seen.there).toContain("Signed-By: /etc/apt/keyrings/svc-test.asc");
});

test("packages of Python in a virtual environment", async () => {
  await using root = await openPrivateRoot();
  const python = await output(
    root,
    "for each in /root/.pyenv/versions/*/bin/python3 /usr/bin/python3; do $each -m ensurepip --version >/dev/null 2>&1 && echo $each && break; done",
  );
  await output(root, `${python} -m venv /srv/venv && mkdir -p /srv/wheels`);
  await output(root, wheel("svc_test_hello", "1.0", python));
  await output(root, wheel("svc_test_hello", "1.1", python));
  const options = "    - bin_env: /srv/venv\n";
  const source = "    - no_index: true\n    - find_links: [/srv/wheels]\n";
  const there = `svc-test-hello == 1.0:\n  pip.installed:\n${options}${source}`;
  const probe = "/srv/venv/bin/pip list --format=freeze --disable-pip-version-check | grep svc";
  expect(await brief(root, there, { test: true })).toBe("svc-test-hello == 1.0:null+");
  expect(await root.apply(there)).toMatchObject([{ changes: { "svc-test-hello": { old: "", new: "1.0" } } }]);
  expect(await output(root, probe)).toMatch(/svc[-_]test[-_]hello==1.0/);
  expect(await brief(root, there)).toBe("svc-test-hello == 1.0:true");
  const newer = there.replaceAll("== 1.0", ">= 1.1");
  expect(await root.apply(newer)).toMatchObject([
    { changes: { "svc-test-hello": { old: "1.0", new: "1.1" } } },
  ]);
  const gone = `svc-test-hello:\n  pip.removed:\n${options}`;
  expect(await brief(root, gone)).toBe("svc-test-hello:true+");
  expect(await brief(root, gone)).toBe("svc-test-hello:true");
  await output(root, "chown -R daemon /srv/venv");
  const [refused] = await root.apply(there);
  expect(refused?.comment).toContain("which another user can change; set user");
});

test("functions, known hosts, and the configuration of Git of a user", async () => {
  await using root = await openPrivateRoot();
  await output(root, "useradd -m svc-test-user");
  const there = `
status.uptime:
  module.run: []
server.test:
  ssh_known_hosts.present:
    - user: svc-test-user
    - enc: ed25519
    - key: AAAAC3NzaC1lZDI1NTE5AAAAIGtlZXBzIHRoaXMgYXMgYSB0ZXN0IGtleSBvbmx5ISE=
user.email:
  git.config_set: [{user: svc-test-user}, {global: true}, {value: user@example.com}]
/etc/svc-test.ini:
  ini.options_present: [{sections: {main: {a: 1}}}]
`;
  expect(await brief(root, there, { test: true })).toBe(
    "status.uptime:null+ server.test:null+ user.email:null+ /etc/svc-test.ini:null+",
  );
  const applied = await brief(root, there);
  expect(applied).toContain("server.test:true+ user.email:true+ /etc/svc-test.ini:true+");
  expect(await brief(root, there)).toContain("server.test:true user.email:true /etc/svc-test.ini:true");
  expect(await output(root, "stat -c '%U %a' ~svc-test-user/.ssh/known_hosts")).toBe("svc-test-user 600");
  expect(await output(root, "cat ~svc-test-user/.gitconfig; cat /etc/svc-test.ini")).toBe(
    "[user]\n\temail = user@example.com\n[main]\na = 1",
  );
});

test("SSH finds the servers that states name, and only those", async () => {
  await using root = await openPrivateRoot();
  const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtlZXBzIHRoaXMgYXMgYSB0ZXN0IGtleSBvbmx5ISE=";
  const state = (verb: string, host: string) =>
    `it:\n  ssh_known_hosts.${verb}: [{name: "${host}"}${verb === "absent" ? "" : `, {key: "${key}"}`}]\n`;
  const file = "/etc/ssh/ssh_known_hosts";
  const found = (host: string) => output(root, `ssh-keygen -F '${host}' -f ${file} | grep -c '^[^#]'`);
  for (const [host, written] of [
    ["FD00:0::A", "fd00::a"],
    ["::FFFF:a00:1", "::ffff:10.0.0.1"],
    ["Server.Test", "server.test"],
  ] as const) {
    expect(await brief(root, state("present", host))).toBe("it:true+");
    expect([host, await found(written)]).toEqual([host, "1"]);
    await output(root, `ssh-keygen -H -f ${file}`);
    expect(await brief(root, state("present", host))).toBe("it:true");
    expect(await brief(root, state("absent", host))).toBe("it:true+");
    expect([host, await found(written)]).toEqual([host, "0"]);
  }
  await output(root, `echo '*.Test,!other.test ${key}' >${file}`);
  expect(await brief(root, state("present", "server.test"))).toBe("it:true");
  expect(await brief(root, state("absent", "server.test"))).toBe("it:true+");
  expect([await found("server.test"), await found("another.test")]).toEqual(["0", "1"]);
});

/** Signs the repository with a key of its own. @returns the public key */
async function signRepository(root: PrivateRoot): Promise<string> {
  await output(
    root,
    `rm /etc/apt/sources.list; mkdir -m 700 /srv/keys; cd /srv/repository
apt-ftparchive release . >/tmp/Release 2>/dev/null || printf 'SHA256:\\n %s %s Packages\\n' "$(sha256sum Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" >/tmp/Release
mv /tmp/Release Release
for each in it other; do gpg --homedir /srv/keys --batch --passphrase '' --quick-gen-key $each@example.com default default never; done
gpg --homedir /srv/keys --batch --local-user it@example.com --clearsign --output InRelease Release`,
  );
  return output(root, "gpg --homedir /srv/keys --batch --armor --export it@example.com");
}

/** A command that makes a package of Python, without a network and without tools for it. */
function wheel(name: string, version: string, python: string): string {
  return `${python} - <<'END'
import zipfile
name, version = "${name}", "${version}"
with zipfile.ZipFile(f"/srv/wheels/{name}-{version}-py3-none-any.whl", "w") as file:
    file.writestr(f"{name}.py", "")
    file.writestr(f"{name}-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    file.writestr(f"{name}-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    file.writestr(f"{name}-{version}.dist-info/RECORD", "")
END`;
}
