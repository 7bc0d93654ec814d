import { expect, setDefaultTimeout, test } from "bun:test";
import { bundleConsole } from "../../release/console.ts";

// What a browser loads of the console: small, from the master alone, and nothing in the page itself.

setDefaultTimeout(60_000);

const maxBytes = 150 * 1024;
const zipped = (bytes: Uint8Array) => Bun.gzipSync(new Uint8Array(bytes)).length;

test("the first page has at most 150 KB, and loads nothing from elsewhere", async () => {
  const { index, assets } = await bundleConsole();
  const first = assets.filter(({ path }) => index.includes(path));
  expect(first.map(({ type }) => type).sort()).toEqual([
    "text/css; charset=utf-8",
    "text/javascript; charset=utf-8",
  ]);
  const sum = first.reduce((all, { bytes }) => all + zipped(bytes), zipped(Buffer.from(index)));
  expect(sum).toBeLessThan(maxBytes);
  expect(index).not.toMatch(/<style|style=|<script>|onload|https?:/);
  for (const { path, bytes } of assets) {
    expect(path).toMatch(/^[a-z-]+-[0-9a-z]{8,16}\.(?:js|css)$/);
    // Of the tables of doors only methods and paths.
    expect(Buffer.from(bytes).toString()).not.toMatch(/svc\.(?:admin|job|rollout)\.|valibot/);
    expect(Buffer.from(bytes).toString()).not.toMatch(/new Function\(|@import|url\((?!data:)/);
  }
});

test("the same code gives the same files, so that all masters of a version serve each other's pages", async () => {
  const names = async () => (await bundleConsole()).assets.map(({ path }) => path);
  expect(await names()).toEqual(await names());
});
