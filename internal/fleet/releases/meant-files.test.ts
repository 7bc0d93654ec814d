import { expect, test } from "bun:test";
import { SvcError } from "../../base/errors.ts";
import { meantFiles } from "./meant-files.ts";

const [inForce, released] = ["ab".repeat(32), "cd".repeat(32)];
const base = { environment: "base" };
const now = { ...base, commit: "c2", snapshot: inForce };
const then = { ...base, commit: "c1", snapshot: released };

/** The fleet of which the peels `db-*` obey operators only. */
function meant(
  peels: readonly string[],
  {
    newest = released,
    commit,
    isGone = false,
    ...of
  }: { isSigned?: boolean; isUnreleased?: boolean; newest?: string; commit?: string; isGone?: boolean } = {},
) {
  return meantFiles(
    {
      async resolve({ commit: wanted, snapshot }) {
        if (snapshot === released && isGone) throw new SvcError("not_found", "no longer published");
        if (snapshot !== undefined) return snapshot === released ? then : now;
        return wanted === "c1" ? then : now;
      },
      newest: (environment) => (environment === "base" && newest !== "" ? newest : undefined),
      insists: (peel) => peel.startsWith("db"),
    },
    {
      wanted: { ...base, ...(commit === undefined ? {} : { commit }) },
      peels: () => peels,
      isSigned: false,
      ...of,
    },
  );
}

const mixed = ["db-1", "web-1"];

test("what nobody signed means the newest release for peels that obey operators only, and for no others", async () => {
  expect(await meant(mixed)).toEqual({ content: now, released: then });
  expect(await meant(["web-1"])).toEqual({ content: now });
  // Where all of them do, there is nothing else to run.
  expect(await meant(["db-1"])).toEqual({ content: then });
});

test("a signature is for one snapshot: with one such peel it is the newest release for all", async () => {
  expect(await meant(mixed, { isSigned: true })).toEqual({ content: then });
  expect(await meant(["web-1"], { isSigned: true })).toEqual({ content: now });
});

test("a commit that is named, and files that the signer computed, are what they are", async () => {
  for (const isSigned of [true, false]) {
    expect(await meant(mixed, { isSigned, commit: "c2" })).toEqual({ content: now });
    expect(await meant(mixed, { isSigned, isUnreleased: true })).toEqual({ content: now });
  }
});

test("what is in force stays when it is released, and when nothing is", async () => {
  for (const newest of [inForce, ""]) {
    expect(await meant(mixed, { newest })).toEqual({ content: now });
    expect(await meant(mixed, { newest, isSigned: true })).toEqual({ content: now });
  }
});

test("a release that is no longer published is named nevertheless", async () => {
  const gone = { ...base, commit: "local", snapshot: released };
  expect(await meant(mixed, { isGone: true })).toEqual({ content: now, released: gone });
});
