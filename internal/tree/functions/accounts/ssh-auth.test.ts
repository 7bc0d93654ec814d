import { expect, test } from "bun:test";
import { planOn } from "../../../../test/harness/planned-state.ts";
import type { CallArgs } from "../../../host/modules/function.ts";

const path = "/root/.ssh/authorized_keys";
const passwd = "root:x:0:0:root:/root:/bin/sh\n";
const [one, two] = [`AAAA${"B".repeat(40)}`, `AAAA${"C".repeat(40)}`];

async function edited(called: string, before: string, name: string, args: CallArgs = {}) {
  const files = { "/etc/passwd": passwd, [path]: before };
  const { plan, system } = await planOn({ files }, `ssh_auth.${called}`, name, { user: "root", ...args });
  await plan.apply?.();
  return system.files.get(path);
}

test.each([
  ["LF", "\n"],
  ["CR LF", "\r\n"],
])("keys that stay keep their line ends, and new ones have those of the file: %s", async (_, end) => {
  const kept = `# people${end}no-pty ssh-rsa ${two} bob${end}`;
  const added = `${kept}ssh-ed25519 ${one} ann${end}`;
  expect(await edited("present", kept, `ssh-ed25519 ${one} ann`)).toBe(added);
  expect(await edited("present", added, `ssh-ed25519 ${one} ann`)).toBe(added);
  expect(await edited("absent", added, `ssh-ed25519 ${one}`)).toBe(kept);
  expect(await edited("present", added, `ssh-ed25519 ${one} ann`, { options: ["no-pty"] })).toBe(
    `${kept}no-pty ssh-ed25519 ${one} ann${end}`,
  );
});

test("a key that is there twice is there once, with its options alone", async () => {
  const from = { options: ['from="10.0.0.0/8"'] };
  const line = `from="10.0.0.0/8" ssh-ed25519 ${one} ann\n`;
  const twice = `${line}# people\nssh-ed25519 ${one} other\n`;
  expect(await edited("present", twice, `ssh-ed25519 ${one} ann`, from)).toBe(`${line}# people\n`);
  expect(await edited("absent", twice, `ssh-ed25519 ${one}`)).toBe("# people\n");
});

test.each([
  ["ed25519", "ssh-ed25519"],
  ["rsa", "ssh-rsa"],
  ["ecdsa", "ecdsa-sha2-nistp256"],
  ["ssh-dss", "ssh-dss"],
])("the type %s is %s", async (enc, type) => {
  expect(await edited("present", "", one, { enc })).toBe(`${type} ${one}\n`);
});
