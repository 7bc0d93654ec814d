import { expect, test } from "bun:test";
import { createTemplates } from "../render.ts";

/** What the function says of two versions on a host of this family. */
async function compared(family: string, one: string, other: string): Promise<string> {
  const text = `{{ salt["pkg.version_cmp"]("${one}", "${other}") }}`;
  const renderer = createTemplates().renderer(async () => undefined);
  return await renderer.render({ name: "t", text }, { facts: { os_family: family }, settings: {} });
}

// In the order of dpkg --compare-versions, and of rpmdev-vercmp.
const sorted = {
  Debian: [
    "0",
    "1.0~~",
    "1.0~rc1",
    "1.0~rc2",
    "1.0",
    "1.0-1~bpo1",
    "1.0-1",
    "1.0-2",
    "1.0-10",
    "1.0a",
    "1.0+b",
    "1.0.0",
    "1.9",
    "1.10",
    "2-1-1",
    "2.4.7-2~pgdg12+1",
    "2.4.7-2",
    "9.6.24",
    "10.1",
    "a",
    "1:0.9",
    "2:0",
  ],
  RedHat: ["0.9", "1.0~rc1", "1.0", "1.0^git1", "1.0a", "1.0.1", "1.9", "1.10", "2.0-1", "2.0-10", "1:0.1"],
} as const;

test.each(["Debian", "RedHat"] as const)(
  "versions of %s are in the order of its packages",
  async (family) => {
    const versions = sorted[family];
    for (const [at, one] of versions.entries()) {
      for (const [beside, other] of versions.entries()) {
        expect([one, other, await compared(family, one, other)]).toEqual([
          one,
          other,
          String(Math.sign(at - beside)),
        ]);
      }
    }
  },
);

test("zeros in front do not count, and other systems are refused", async () => {
  expect(await compared("Debian", "1.00", "1.0")).toBe("0");
  await expect(compared("Arch", "1", "2")).rejects.toThrow("Debian, RedHat and Suse");
});
