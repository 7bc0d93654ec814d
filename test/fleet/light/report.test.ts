import { expect, test } from "bun:test";
import { decodeReport } from "../../../internal/wire/state-report.ts";
import { unchangedReport } from "./peel.ts";

test("masters can read what a light peel reports of a state run", () => {
  expect(decodeReport(unchangedReport())).toMatchObject({ ok: 40, changed: 0, failed: 0, drift: [] });
});
