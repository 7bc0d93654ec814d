import { expect, setDefaultTimeout, test } from "bun:test";
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
