import { expect, test } from "bun:test";
import { type Clock, systemClock } from "../../base/clock.ts";
import type { SessionView } from "../../fleet/sessions/mod.ts";
import { createClient, nextOf, requestOf } from "./client.ts";
import { ApiError, WaitsForApproval } from "./error.ts";
import { routes } from "./routes.ts";

// Every pause is over at once.
const clock: Clock = {
  ...systemClock,
  after(_, run) {
    queueMicrotask(run);
    return { cancel() {} };
  },
};

const answering = (...answers: Response[]) => {
  const requested: { path: string; init: RequestInit }[] = [];
  let again = 0;
  let session: SessionView | undefined = { csrf: "c1" } as SessionView;
  const client = createClient({
    clock,
    async fetch(path, init) {
      requested.push({ path, init });
      const answer = answers.shift();
      if (answer === undefined) throw new TypeError("connection refused");
      return answer;
    },
    session: () => session,
    async signInAgain() {
      again++;
    },
  });
  const signOut = () => {
    session = undefined;
  };
  return { client, requested, again: () => again, signOut };
};

test("fields go where the route has them", () => {
  expect(requestOf(routes.showPeel, { id: "a/b c" })).toEqual({ path: "/api/v1/peels/a%2Fb%20c" });
  expect(requestOf(routes.listPeels, { target: "G@os:Debian", cursor: undefined, limit: 10 })).toEqual({
    path: "/api/v1/peels?target=G%40os%3ADebian&limit=10",
  });
  expect(requestOf(routes.revokeEnrollment, { id: "enr-1", reason: "sold" })).toEqual({
    path: "/api/v1/enrollments/enr-1/revoke",
    body: '{"reason":"sold"}',
  });
});

test("only changes show the token of the session", async () => {
  const { client, requested } = answering(Response.json({}), Response.json({}));
  await client.call(routes.showPeel, { id: "a" });
  await client.call(routes.revokeEnrollment, { id: "enr-1" });
  const shown = requested.map(({ init }) => new Headers(init.headers).get("X-CSRF-Token"));
  expect(shown).toEqual([null, "c1"]);
});

test("a page names the next one", async () => {
  const Link = '</api/v1/peels?limit=2&cursor=web-2_example>; rel="next"';
  const { client } = answering(Response.json([{}], { headers: { Link } }), Response.json([]));
  expect(await client.page(routes.listPeels, {})).toMatchObject({ next: "web-2_example" });
  expect(await client.page(routes.listPeels, {})).toEqual({ items: [] });
  expect(nextOf('</api/v1/peels?limit=2>; rel="prev"')).toBeUndefined();
});

test("a request that meets the end of the session is repeated once there is one again", async () => {
  const { client, requested, again } = answering(
    Response.json({ error: "ended" }, { status: 401 }),
    Response.json({ id: "a" }),
  );
  expect(await client.call(routes.showPeel, { id: "a" })).toMatchObject({ id: "a" });
  expect([requested.length, again()]).toEqual([2, 1]);
});

const tooMany = () =>
  Response.json({ error: "rate limit exceeded" }, { status: 429, headers: { "Retry-After": "10" } });
const tooManyWords = /^Too many requests came from your address.* Try again at \d\d:\d\d:\d\d, in 10 s\.$/;

test("a master that has enough is asked again later, and not for ever", async () => {
  const { client, requested } = answering(tooMany(), tooMany(), Response.json({ id: "a" }));
  expect(await client.call(routes.revokeEnrollment, { id: "a" })).toMatchObject({ id: "a" });
  expect(requested).toHaveLength(3);
  const busy = answering(...Array.from({ length: 100 }, tooMany));
  await expect(busy.client.call(routes.showPeel, { id: "a" })).rejects.toThrow(tooManyWords);
  expect(busy.requested).toHaveLength(61);
});

test("a person who signs in too often gets the refusal at once", async () => {
  const { client, requested, signOut } = answering(tooMany(), Response.json({}));
  signOut();
  await expect(client.call(routes.revokeEnrollment, { id: "a" })).rejects.toThrow(tooManyWords);
  expect(requested).toHaveLength(1);
});

test("refusals keep the words of the master", async () => {
  const { client } = answering(
    Response.json({ error: "ann may not revoke" }, { status: 403 }),
    new Response("<html>", { status: 502 }),
    Response.json({ ok: true, approval: "apr-1", needs: 1 }, { status: 202 }),
  );
  const refused = () => client.call(routes.revokeEnrollment, { id: "enr-1" });
  expect(refused()).rejects.toEqual(new ApiError(403, "ann may not revoke"));
  expect(refused()).rejects.toEqual(new ApiError(502, "the master answered 502"));
  expect(refused()).rejects.toBeInstanceOf(WaitsForApproval);
  await expect(refused()).rejects.toThrow("no master answers");
});
