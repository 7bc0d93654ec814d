import { expect, test } from "bun:test";
import { summarize } from "./summary.ts";

const now = Date.parse("2026-01-31T12:00:00Z");

test("credentials that end soon count for peels that are silent", () => {
  const peels = [
    { id: "alive", alive: true, creds_expires_at: "2026-01-31T13:00:00Z" },
    {
      id: "later",
      alive: false,
      silent_since: "2026-01-31T11:00:00Z",
      creds_expires_at: "2026-02-03T00:00:00Z",
    },
    {
      id: "soon",
      alive: false,
      silent_since: "2026-01-31T11:30:00Z",
      creds_expires_at: "2026-01-31T20:00:00Z",
    },
    { id: "never", alive: false },
  ];
  expect(summarize(peels, now)).toEqual({
    ...{ alive: 1, silent: 3 },
    silentPeels: [
      { id: "soon", since: "2026-01-31T11:30:00Z" },
      { id: "later", since: "2026-01-31T11:00:00Z" },
      { id: "never" },
    ],
    ending: [{ id: "soon", at: "2026-01-31T20:00:00Z" }],
  });
});
