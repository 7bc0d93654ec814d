import { expect, test } from "bun:test";
import { notesOnReleases, releaseOutlook } from "./release-notes.ts";

const now = Date.parse("2026-11-29T00:00:00Z");
const base = { environment: "base", is_released: false, version: 7, operator: "anna" };
const survey = (insisting: number, releases?: (typeof base & { ends_at?: string })[]) => ({
  ...{ alive: 3, silent_count: 1, insisting },
  ...(releases === undefined ? {} : { releases }),
});

test("peels that obey operators only wait for a release; without such peels all would", () => {
  expect(releaseOutlook(survey(2, [base]))).toEqual({ waiting: "2 peels wait for a release of base" });
  expect(releaseOutlook(survey(1, [base]))).toEqual({ waiting: "1 peel waits for a release of base" });
  expect(releaseOutlook(survey(0, [base]))).toEqual({
    wouldWait: "4 peels would wait for a release of base",
  });
  expect(releaseOutlook(survey(2, [{ ...base, is_released: true }]))).toEqual({ version: 7 });
  // Another environment, nothing published, and nobody who knows it.
  expect(releaseOutlook(survey(2, [{ ...base, environment: "dev" }]))).toEqual({});
  expect(releaseOutlook(survey(2, []))).toEqual({});
  expect(releaseOutlook(survey(2))).toBeUndefined();
});

test("notes name what waits, and from 14 days before it the end of the record of a signer", () => {
  expect(notesOnReleases(survey(2, [base]), now)).toEqual([
    "2 peels wait for a release of base: see svc states release",
  ]);
  expect(notesOnReleases(survey(0, [base]), now)).toEqual([]);
  const released = { ...base, is_released: true };
  const ending = (ends_at: string) => notesOnReleases(survey(0, [{ ...released, ends_at }]), now);
  expect(ending("2026-12-13T00:00:00Z")).toEqual([]);
  expect(ending("2026-12-12T23:59:59Z")).toEqual([
    "the record of anna, who signed release 7 of base, ends at 2026-12-12T23:59:59Z: renew it with svc operator renew anna, or have another operator run svc states release",
  ]);
  expect(ending("2026-11-28T00:00:00Z")[0]).toContain("of base, ended at 2026-11-28T00:00:00Z");
});
