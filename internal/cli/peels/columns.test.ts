import { expect, test } from "bun:test";
import type { ShownPeel } from "../../fleet/peels/mod.ts";
import {
  columns,
  csvRowOf,
  dataColumns,
  headsOf,
  readColumn,
  rowOf,
  sortPeels,
  tableColumns,
  usualColumns,
} from "./columns.ts";

const peel = (id: string, more: Partial<ShownPeel> = {}): ShownPeel => ({
  ...{ id, peel_id: id, enrollment_id: `enr-${id}`, state: "active", alive: false, labels: {} },
  ...more,
});

test("an unknown column is refused with the nearest one", () => {
  expect(columns.map(readColumn)).toEqual(columns);
  expect(() => readColumn("verson")).toThrow(
    'unknown column "verson" (did you mean version?); there are id,',
  );
});

test("a row has what is known, and dashes", () => {
  expect(rowOf(peel("web-1"), usualColumns)).toEqual(["web-1", "silent", "-", "-", "-", "-"]);
  const known = peel("web-1", {
    ...{ alive: true, alive_since: "2026-01-09T00:00:00.000Z", version: "1.0", os: "Debian 12" },
    labels: { env: "prod", rack: "7" },
  });
  expect(rowOf(known, usualColumns)).toEqual([
    ...["web-1", "alive", "2026-01-09T00:00:00.000Z", "1.0", "Debian 12", "env=prod rack=7"],
  ]);
});

test("the last job has a cell for what ran, its id and its time", () => {
  const last_job = {
    jid: "job-1",
    function: "state.apply",
    outcome: "failed",
    at: "2026-01-09T21:00:00.000Z",
  } as const;
  const known = peel("web-1", { settings_version: 7, last_job });
  const chosen = ["settings_version", "last_job", "last_job_id", "last_job_at", "last_job_age"] as const;
  expect(rowOf(known, chosen)).toEqual(["7", "state.apply failed", "job-1", last_job.at, last_job.at]);
  expect(rowOf(peel("web-2"), chosen)).toEqual(["-", "-", "-", "-", "-"]);
  const old = peel("web-3", { last_job: { ...last_job, at: "2025-12-09T21:00:00.000Z" } });
  expect(sortPeels([peel("web-2"), known, old], "last_job_age").map(({ id }) => id)).toEqual([
    "web-3",
    "web-1",
    "web-2",
  ]);
});

test("a field of CSV has one value, where a table has two in one cell", () => {
  const last_job = { jid: "job-1", function: "cmd.run", outcome: "timeout", at: "2026-01-09T21:00:00.000Z" };
  const last_run = { status: "drifted", trigger: "job", run_at: "2026-01-09T22:00:00.000Z" };
  const known = peel("web-1", { last_job, last_run } as Partial<ShownPeel>);
  const pairs = ["last_run", "last_run_trigger", "last_job", "last_job_outcome"] as const;
  expect(csvRowOf(known, pairs)).toEqual(["drifted", "job", "cmd.run", "timeout"]);
  expect(csvRowOf(peel("web-2"), pairs)).toEqual(["", "", "", ""]);
  expect(rowOf(known, ["last_run", "last_job"])).toEqual(["drifted job", "cmd.run timeout"]);
  expect(dataColumns).toEqual(expect.arrayContaining([...pairs]));
  expect(dataColumns.filter((name) => !tableColumns.includes(name))).toEqual([
    "peel_id",
    ...[pairs[1], pairs[3]],
  ]);
});

test("peels are sorted by a column, numbers by their value, and what is not known comes last", () => {
  const peels = [peel("a", { version: "1.10" }), peel("b"), peel("c", { version: "1.9" })];
  expect(sortPeels(peels, "version").map(({ id }) => id)).toEqual(["c", "a", "b"]);
  expect(sortPeels([peel("web-10"), peel("web-9")], "id").map(({ id }) => id)).toEqual(["web-9", "web-10"]);
});

test("a table shows ages, and cuts what may be long", () => {
  expect(headsOf(["id", "peel_id"])).toEqual({ "PEEL ID": "name", "ENCODED ID": "name" });
  expect(headsOf(["id", "since", "last_job_id", "version"])).toEqual({
    ...{ "PEEL ID": "name", SINCE: "ago", "LAST JOB ID": "id", VERSION: "word" },
  });
});
