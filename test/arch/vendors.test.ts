import { expect, test } from "bun:test";
import { lines, readRepository } from "./source.ts";
import { checkVendors } from "./vendors.ts";

test("a vendor's package stays behind its room", () => {
  expect(lines(checkVendors(readRepository()))).toEqual([]);
});

test("a package used outside its room, an unknown one and a computed name are found", () => {
  expect(
    lines(
      checkVendors([
        { path: "internal/bus/connection/connect.ts", text: 'import { connect } from "nats";' },
        { path: "internal/jobs/run.ts", text: 'import type { Msg } from "nats";' },
        { path: "internal/http/id.ts", text: 'import { Packr } from "msgpackr/pack";' },
        {
          path: "internal/base/files/file.ts",
          text: 'import "node:fs"; import "fs"; import "bun"; import "bun:ffi";',
        },
        { path: "internal/base/left.ts", text: 'const pad = await import("@scope/left-pad/deep");' },
        { path: "internal/base/any.ts", text: "const load = (name: string) => import(name);" },
        { path: "internal/base/id.test.ts", text: 'import fc from "fast-check";' },
      ]),
    ),
  ).toEqual([
    "internal/jobs/run.ts: imports nats, which stays behind internal/bus/",
    "internal/http/id.ts: imports msgpackr, which stays behind internal/base/",
    "internal/base/left.ts: imports @scope/left-pad, which has no room in test/arch/vendors.ts",
    "internal/base/any.ts: imports a computed name; name the file or package",
  ]);
});
