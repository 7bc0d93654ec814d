import { expect, setDefaultTimeout, test } from "bun:test";
import { installPackages } from "../harness/host-packages.ts";
import { hostTimeoutMs, openPrivateRoot } from "../harness/private-root.ts";
import { brief, output } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

test("mounts on paths with links, of directories, and on top of each other, judged by the kernel", async () => {
  await using root = await openPrivateRoot();
  await output(
    root,
    "mkdir -p /srv/case/real/data /srv/case/a /srv/case/b /srv/case/bound /srv/case/hid/den; ln -s real /srv/case/link",
  );
  const mounts = "grep -o '/srv/case[^ ]* /srv/case[^ ]*\\|/ /srv/case[^ ]*' /proc/self/mountinfo";
  const mounted = (device: string, fstype: string, opts: string) =>
    `mount.mounted: [{device: ${device}}, {fstype: ${fstype}}, {opts: [${opts}]}]`;

  const disk = `/srv/case/link/data:\n  ${mounted("tmpfs", "tmpfs", "size=1m")}\n`;
  expect(await brief(root, disk)).toBe("/srv/case/link/data:true+");
  expect(await brief(root, disk)).toBe("/srv/case/link/data:true");
  expect(await output(root, mounts)).toBe("/ /srv/case/real/data");
  // What an earlier release left: several mounts on each other.
  await output(root, "mount -t tmpfs tmpfs /srv/case/real/data");
  const gone = "/srv/case/link/data:\n  mount.unmounted: [{persist: true}]\n";
  expect(await brief(root, gone)).toBe("/srv/case/link/data:true+");
  expect(await brief(root, gone)).toBe("/srv/case/link/data:true");
  expect(await output(root, `${mounts}; grep case /etc/fstab`)).toBe("");

  const from = (directory: string) =>
    `/srv/case/bound:\n  ${mounted(`/srv/case/${directory}`, "none", "bind")}\n`;
  expect(await brief(root, from("a"))).toBe("/srv/case/bound:true+");
  expect(await brief(root, from("a"))).toBe("/srv/case/bound:true");
  const fstab = await output(root, "grep case /etc/fstab");
  for (const _ of ["first", "second"]) {
    const [refused] = await root.apply(from("b"));
    expect(refused).toMatchObject({ result: false, changes: {} });
    expect(refused?.comment).toContain("/srv/case/a] is mounted on /srv/case/bound instead of /srv/case/b");
  }
  expect(await output(root, `${mounts}; grep case /etc/fstab`)).toBe(`/srv/case/a /srv/case/bound\n${fstab}`);

  // A directory mounted on itself, one whose source it hides, and an image of a disk.
  const itself = `
/srv/case/a:
  ${mounted("/srv/case/a", "none", "bind")}
/srv/case/hid:
  ${mounted("/srv/case/hid/den", "none", "bind")}
`;
  expect(await brief(root, itself)).toBe("/srv/case/a:true+ /srv/case/hid:true+");
  expect(await brief(root, itself)).toBe("/srv/case/a:true /srv/case/hid:true");

  // What a mount above hides is not mounted, whatever the table says (and mountpoint(1), which only reads that).
  await output(
    root,
    "mount -t tmpfs tmpfs /srv/case/real/data; mount -t tmpfs tmpfs /srv/case/real; mkdir /srv/case/real/data",
  );
  expect(await output(root, "stat -c %d /srv/case/real /srv/case/real/data | uniq | wc -l")).toBe("1");
  expect(await brief(root, gone)).toBe("/srv/case/link/data:true");

  // A mount below a link is not cleaned away: here a directory of the same file system.
  await output(
    root,
    "umount /srv/case/real /srv/case/real/data; mkdir -p /srv/case/real/kept/in /srv/case/b/x; mount --bind /srv/case/b /srv/case/real/kept/in",
  );
  const [clean] = await root.apply("/srv/case/link/kept:\n  file.directory: [{clean: true}]\n");
  expect(clean).toMatchObject({
    result: false,
    comment: expect.stringContaining("a file system is mounted on"),
  });
  expect(await output(root, "ls /srv/case/b")).toBe("x");
});

test("files that are mounts are written in place, or keep their content with a reason", async () => {
  await using root = await openPrivateRoot();
  const files = "/srv/case/etc/hosts /etc/hosts /etc/hostname";
  await output(
    root,
    `mkdir -p /srv/case/etc /srv/case/of; for at in ${files}; do
       name=/srv/case/of/$(echo $at | tr / _); echo '127.0.0.1 localhost' >$name
       touch $at; mount --bind $name $at; done; printf '# caf\\351\\n' >>/etc/hosts`,
  );
  const inspect = `for at in ${files}; do stat -c '%i %a' $at; cat -v $at; done; grep -c /srv/case/of /proc/self/mountinfo; ls -A /etc | grep '^\\.host'`;
  const inodes = `stat -c %i ${files}`;
  const before = await output(root, inodes);
  const states = `
/srv/case/etc/hosts:
  file.append: [{text: 10.0.0.1 added}]
db-1.test:
  host.present: [{ip: [10.1.2.3]}]
svc-test-name:
  hostname.system: []
`;
  const ids = ["/srv/case/etc/hosts", "db-1.test", "svc-test-name"];
  expect(await brief(root, states)).toBe(ids.map((id) => `${id}:true+`).join(" "));
  expect(await brief(root, states)).toBe(ids.map((id) => `${id}:true`).join(" "));
  const [one, two, three] = before.split("\n");
  const line = "127.0.0.1 localhost";
  expect(await output(root, inspect)).toBe(
    `${one} 644\n${line}\n10.0.0.1 added\n${two} 644\n${line}\n# cafM-i\n10.1.2.3\t\tdb-1.test\n${three} 644\nsvc-test-name\n3`,
  );
  // Shorter, with another mode.
  const managed = "/srv/case/etc/hosts:\n  file.managed: [{contents: short}, {mode: '0600'}]\n";
  expect(await brief(root, managed)).toBe("/srv/case/etc/hosts:true+");
  expect(await output(root, "stat -c '%i %a' /srv/case/etc/hosts; cat /srv/case/etc/hosts")).toBe(
    `${one} 600\nshort`,
  );
  const [absent] = await root.apply("/srv/case/etc/hosts:\n  file.absent: []\n");
  expect(absent).toMatchObject({ result: false, comment: expect.stringContaining("it is a mount point") });
});

test("a mount on a full disk, in a read-only directory, and other reasons", async () => {
  await using root = await openPrivateRoot();
  await output(
    root,
    `mkdir -p /srv/case/small /srv/case/etc /srv/case/ro; echo old >/srv/case/etc/conf
     mount -t tmpfs -o size=16k tmpfs /srv/case/small; echo kept >/srv/case/small/conf; mount --bind /srv/case/small/conf /srv/case/etc/conf
     dd if=/dev/zero of=/srv/case/small/filler bs=4096 2>/dev/null
     mount -t tmpfs tmpfs /srv/case/ro; echo old >/srv/case/ro/conf; echo old >/srv/case/ro/plain; echo under >/srv/case/free
     mount --bind /srv/case/free /srv/case/ro/conf; mount -o remount,ro /srv/case/ro`,
  );
  const long = "x".repeat(12_000);
  const [full] = await root.apply(`/srv/case/etc/conf:\n  file.managed: [{contents: ${long}}]\n`);
  expect(full).toMatchObject({
    result: false,
    comment: "cannot write /srv/case/etc/conf: no space left on the device",
  });
  expect(await output(root, "cat /srv/case/etc/conf; ls -A /srv/case/etc")).toBe("kept\nconf");
  await output(root, "rm /srv/case/small/filler");
  expect(
    await brief(root, `/srv/case/etc/conf:\n  file.managed: [{contents: ${long.slice(0, 8000)}}]\n`),
  ).toBe("/srv/case/etc/conf:true+");
  expect(await output(root, "stat -c %s /srv/case/small/conf")).toBe("8001");

  expect(await brief(root, "/srv/case/ro/conf:\n  file.managed: [{contents: new}]\n")).toBe(
    "/srv/case/ro/conf:true+",
  );
  expect(await output(root, "cat /srv/case/free; ls -A /srv/case/ro; ls -A /tmp | grep svc-stage")).toBe(
    "new\nconf\nplain",
  );
  const reasons = await root.apply(`
/srv/case/ro/plain:
  file.managed: [{contents: new}]
/srv/case/ro/new:
  file.managed: [{contents: new}]
/srv/case/${"n".repeat(256)}:
  file.managed: [{contents: new}]
`);
  expect(reasons.map(({ comment }) => comment.replace(/n{256}/, "N"))).toEqual([
    "cannot write /srv/case/ro/plain: the file system is read-only",
    "cannot write /srv/case/ro/new: the file system is read-only",
    "cannot access /srv/case/N: the name is too long",
  ]);
});

test("a write in place that is killed between the content and its length loses nothing, and is repeated", async () => {
  await using root = await openPrivateRoot();
  await installPackages(root, "trace");
  const lines = ["127.0.0.1 localhost", "10.0.0.1 gone.test", "10.0.0.2 kept.test"];
  await output(
    root,
    `mkdir -p /srv/case/etc; printf '%s\\n' ${lines.map((line) => `'${line}'`).join(" ")} >/srv/case/of
     cp /srv/case/of /srv/case/of2; touch /srv/case/etc/hosts
     mount --bind /srv/case/of /etc/hosts; mount --bind /srv/case/of2 /srv/case/etc/hosts`,
  );
  const left = "ls -A /etc /srv/case/etc | grep '^\\.hosts'";
  const states = {
    "/etc/hosts": "gone.test:\n  host.absent: [{ip: 10.0.0.1}]\n",
    "/srv/case/etc/hosts":
      "/srv/case/etc/hosts:\n  file.line: [{content: 10.0.0.1 gone.test}, {mode: delete}]\n",
  };
  for (const [path, sls] of Object.entries(states)) {
    const kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", path, "-e", "inject=ftruncate:signal=KILL"];
    await expect(root.apply(sls, { through: kill })).rejects.toThrow("states gave no results");
    // The worst moment: the new content, and behind it the end of the old one.
    const torn = `${lines[0]}\n${lines[2]}\n`;
    expect(await output(root, `head -c ${torn.length} ${path}; stat -c %s ${path}; ${left}`)).toMatch(
      new RegExp(`^${torn}${lines.join("\n").length + 1}\n\\.hosts\\.[0-9a-f]{12}\n\\.hosts\\.unfinished$`),
    );
    const [again] = await root.apply(sls);
    expect(again).toMatchObject({ result: true });
    expect(again?.changes).not.toEqual({});
    expect(await output(root, `cat ${path}; ${left}`)).toBe(`${lines[0]}\n${lines[2]}`);
  }
});
