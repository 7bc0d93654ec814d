import { describe, expect, test } from "bun:test";
import { planOn, problemsOf, refusal } from "../../../../test/harness/planned-state.ts";

const line = "deb [signed-by=/etc/apt/keyrings/x.gpg arch=amd64] https://x.test/debian stable main";
const apt = { programs: ["apt-get"] };
const list = "/etc/apt/sources.list.d/x.list";
/** A public key packet, with too little in it to be a key of anybody. */
const packet = Buffer.from([0x98, 5, 4, 1, 2, 3, 4]);
const key = `-----BEGIN PGP PUBLIC KEY BLOCK-----\nVersion: x\n\n${packet.toString("base64")}\n=AAAA\n-----END PGP PUBLIC KEY BLOCK-----\n`;

describe("apt", () => {
  test("a repository is added to its file with its key, once", async () => {
    const args = { file: list, key_text: key, refresh: false };
    const { system, plan } = await planOn(apt, "pkgrepo.managed", line, args);
    expect(Object.keys(plan.changes)).toEqual(["/etc/apt/keyrings/x.gpg", list]);
    expect(plan.changes[list]).toMatchObject({ created: true, diff: expect.stringContaining(`+${line}\n`) });
    expect(system.files.size).toBe(0);
    await plan.apply?.();
    expect(system.files.get(list)).toBe(`${line}\n`);
    expect(system.files.get("/etc/apt/keyrings/x.gpg")).toBe(packet.toString("latin1"));
    expect(system.ran).toEqual([]);
    const again = await planOn(
      { ...apt, files: Object.fromEntries(system.files) },
      "pkgrepo.managed",
      line,
      args,
    );
    expect(again.plan).toEqual({ changes: {}, comment: `the repository ${line} is configured` });
  });

  test.each<[string, Record<string, string>, string, Record<string, string>]>([
    [
      "another line of the file stays",
      { [list]: "deb https://y.test a b\n" },
      line,
      { [list]: `deb https://y.test a b\n${line}\n` },
    ],
    [
      "options are changed where the repository is",
      { "/etc/apt/sources.list": "# mine\ndeb https://x.test/debian/ stable main extra\n" },
      line,
      { "/etc/apt/sources.list": `# mine\n${line} extra\n` },
    ],
    [
      "a component of its own is a line of its own",
      { [list]: "deb https://x.test/debian stable other\n" },
      line,
      { [list]: `deb https://x.test/debian stable other\n${line}\n` },
    ],
    ["a comment is not a repository", { [list]: `# ${line}\n` }, line, { [list]: `# ${line}\n${line}\n` }],
    [
      "a paragraph counts as well",
      {
        "/etc/apt/sources.list.d/x.sources":
          "Types: deb\nURIs: https://x.test/debian\nSuites: stable\nComponents: main\nArchitectures: amd64\nSigned-By: /old\n",
      },
      line,
      {
        "/etc/apt/sources.list.d/x.sources":
          "Types: deb\nURIs: https://x.test/debian\nSuites: stable\nComponents: main\nSigned-By: /etc/apt/keyrings/x.gpg\nArchitectures: amd64\n",
      },
    ],
  ])("%s", async (_, files, name, after) => {
    const args = { file: list, refresh: false };
    const { system, plan } = await planOn({ ...apt, files }, "pkgrepo.managed", name, args);
    await plan.apply?.();
    expect(Object.fromEntries(system.files)).toEqual(after);
    const again = await planOn({ ...apt, files: after }, "pkgrepo.managed", name, args);
    expect(again.plan.changes).toEqual({});
  });

  test("the format of deb822, and a cleaned file", async () => {
    const file = "/etc/apt/sources.list.d/x.sources";
    const args = { file, clean_file: true, architectures: "amd64,arm64", refresh: false };
    const files = { [file]: "Types: deb\nURIs: https://y.test\nSuites: a\nComponents: b\n" };
    const { system, plan } = await planOn(
      { ...apt, files },
      "pkgrepo.managed",
      "deb https://x.test stable main",
      args,
    );
    await plan.apply?.();
    expect(system.files.get(file)).toBe(
      "Types: deb\nURIs: https://x.test\nSuites: stable\nComponents: main\nArchitectures: amd64 arm64\n",
    );
  });

  test("the lists are refreshed after a change, and a failure says what was changed", async () => {
    const done = await planOn(apt, "pkgrepo.managed", line, { file: list });
    await done.plan.apply?.();
    expect(done.system.ran.join()).toContain("update");
    const answer = () => ({ code: 100, stderr: "E: no network" });
    const { plan } = await planOn({ ...apt, answer }, "pkgrepo.managed", line, { file: list });
    await expect(plan.apply?.()).rejects.toMatchObject({
      message: expect.stringContaining("E: no network"),
      changes: { [list]: { created: true } },
    });
  });

  test("a key from http:// is not fetched: the state fails unless the key is there", async () => {
    const args = { file: list, key_url: "http://x.test/k.asc", aptkey: false, refresh: false };
    await expect(planOn(apt, "pkgrepo.managed", line, args)).rejects.toThrow("could be anybody's");
    const files = { "/etc/apt/keyrings/x.gpg": "key" };
    const { plan } = await planOn({ ...apt, files }, "pkgrepo.managed", line, args);
    expect(Object.keys(plan.changes)).toEqual([list]);
  });

  test("a repository is removed from every file, and its components alone", async () => {
    const files = {
      "/etc/apt/sources.list": `deb https://y.test a b\n${line} extra\n`,
      [list]: `${line}\n`,
      "/etc/apt/sources.list.d/x.sources":
        "Types: deb\nURIs: https://z.test\nSuites: a\nComponents: b\n\nTypes: deb\nURIs: https://x.test/debian\nSuites: stable\nComponents: main\n",
    };
    const name = "deb https://x.test/debian stable main";
    const { system, plan } = await planOn({ ...apt, files }, "pkgrepo.absent", name, { refresh: false });
    await plan.apply?.();
    expect(Object.fromEntries(system.files)).toEqual({
      "/etc/apt/sources.list": `deb https://y.test a b\n${line.replace("main", "extra")}\n`,
      "/etc/apt/sources.list.d/x.sources": "Types: deb\nURIs: https://z.test\nSuites: a\nComponents: b\n",
    });
    const again = await planOn({ ...apt, files: Object.fromEntries(system.files) }, "pkgrepo.absent", name);
    expect(again.plan.changes).toEqual({});
  });

  test.each([
    [{ key_url: "https://x/key", keyid: "0".repeat(40) }, "give only one of key_url, keyid"],
    [{ keyid: "xyz" }, "keyid: expected a fingerprint"],
    [{ enabled: true, disabled: false }, "give only one of enabled, disabled"],
    [{ enabled: "perhaps" }, "enabled: expected true or false"],
  ])("%j is refused", async (args, expected) => {
    expect(await problemsOf("pkgrepo.managed", args)).toContain(expected);
  });

  test("what is not a repository, and what is not a key, is a failure before anything is changed", async () => {
    expect(await refusal(apt, "pkgrepo.managed", "x.test")).toContain(
      "name: expected the line of a repository",
    );
    expect(await refusal(apt, "pkgrepo.managed", line, { file: "/etc/apt/x" })).toContain(
      ".list or .sources",
    );
    expect(await refusal(apt, "pkgrepo.managed", line, { key_text: "<html>" })).toContain(
      "is not an OpenPGP public key",
    );
    expect(await refusal(apt, "pkgrepo.managed", line, { ppa: "a/b" })).toContain("for Ubuntu");
    expect(await refusal({ programs: ["apk"] }, "pkgrepo.managed", line)).toContain("repositories of apk");
    const { plan } = await planOn(apt, "pkgrepo.managed", line, { keyid: "12345678" });
    await expect(plan.apply?.()).rejects.toThrow("is too short to tell a key");
  });
});

describe("dnf", () => {
  const dnf = { programs: ["dnf"] };
  const path = "/etc/yum.repos.d/x.repo";
  const args = {
    humanname: "X",
    baseurl: ["https://x.test/$releasever"],
    gpgcheck: 1,
    gpgkey: ["https://x.test/key"],
    refresh: false,
  };

  test("a repository is a section of a file, which is kept where it is", async () => {
    const { system, plan } = await planOn(dnf, "pkgrepo.managed", "x", args);
    await plan.apply?.();
    expect(system.files.get(path)).toBe(
      "[x]\nname=X\nbaseurl=https://x.test/$releasever\ngpgkey=https://x.test/key\ngpgcheck=1\nenabled=1\n",
    );
    const other = { "/etc/yum.repos.d/all.repo": "[y]\nname=y\n[x]\nname=X\n# theirs\nenabled=True\n" };
    const kept = await planOn({ ...dnf, files: other }, "pkgrepo.managed", "x", args);
    await kept.plan.apply?.();
    expect(kept.system.files.get("/etc/yum.repos.d/all.repo")).toBe(
      "[y]\nname=y\n[x]\nname=X\n# theirs\nenabled=True\nbaseurl=https://x.test/$releasever\ngpgkey=https://x.test/key\ngpgcheck=1\n",
    );
    const again = await planOn(
      { ...dnf, files: Object.fromEntries(kept.system.files) },
      "pkgrepo.managed",
      "x",
      args,
    );
    expect(again.plan.changes).toEqual({});
  });

  test("a password is not shown, and a removed section takes an empty file with it", async () => {
    const { plan, system } = await planOn(dnf, "pkgrepo.managed", "x", { ...args, password: "topsecret" });
    expect(JSON.stringify(plan.changes)).not.toContain("topsecret");
    await plan.apply?.();
    const gone = await planOn({ ...dnf, files: Object.fromEntries(system.files) }, "pkgrepo.absent", "x");
    expect(JSON.stringify(gone.plan.changes)).not.toContain("topsecret");
    await gone.plan.apply?.();
    expect(gone.system.files.size).toBe(0);
  });

  test("an id with a path, and a repository without an address, are failures", async () => {
    expect(await refusal(dnf, "pkgrepo.managed", "../x", args)).toContain("is not a valid id");
    expect(await refusal(dnf, "pkgrepo.managed", "x", { refresh: false })).toContain("give one of baseurl");
  });
});
