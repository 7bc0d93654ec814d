import { expect, test } from "bun:test";
import { argsText } from "./args-text.ts";

test.each([
  [{}, undefined],
  [{ command: "nginx -t &&\n  systemctl reload nginx" }, "nginx -t && systemctl reload nginx"],
  [{ mods: ["web", "web.tls"] }, "web,web.tls"],
  [{ name: "nginx", enable: true }, "name=nginx enable=true"],
  [{ pillar: { a: 1, b: [null] } }, "{a: 1, b: null}"],
  [
    { name: "web", password: "x y", pillar: { token: [1, 2], a: 1 } },
    "name=web password=*** pillar={token: ***, a: 1}",
  ],
  [{ password: "x" }, "***"],
  [{ name: "app", password: "geheim", env: { A: "geheim" } }, "name=app password=*** env=***"],
  [{ stdin: "geheim" }, "***"],
  [{ settings: { db: { api_key: "geheim", port: 1 } } }, "{db: {api_key: ***, port: 1}}"],
  [{ command: "mysql --password=verysecret" }, "mysql --password=***"],
  [{ data: new Uint8Array(7) }, "7 bytes"],
  [{ text: "a\u202eb\u001b[2J" }, "a\\u202eb\\u001b[2J"],
  [{ text: "x".repeat(1_000_000) }, `${"x".repeat(119)}…`],
  [{ list: Array.from({ length: 100_000 }, () => "ab") }, Array.from({ length: 20 }, () => "ab").join(",")],
])("%#", (args, text) => {
  expect(argsText(args)).toBe(text as never);
});
