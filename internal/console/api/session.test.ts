import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { ApiError } from "./error.ts";
import { createSession } from "./session.ts";

const viewOf = (name: string) => ({ name, csrf: `of-${name}`, may: {} });

/** A browser with the cookie of the named person; without a name, no one is signed in. */
function browser() {
  const cookie: { of: string | undefined } = { of: "ann" };
  let announced = 0;
  const clock = manualClock();
  const refusals: Response[] = [];
  const session = createSession({
    clock,
    async fetch(_, { method, body }) {
      const refusal = refusals.shift();
      if (refusal !== undefined) return refusal;
      if (method === "POST") cookie.of = (JSON.parse(String(body)) as { token: string }).token;
      if (method === "DELETE") {
        cookie.of = undefined;
        return Response.json({});
      }
      return cookie.of === undefined
        ? Response.json({ error: "sign in" }, { status: 401 })
        : Response.json(viewOf(cookie.of));
    },
    announce: () => void announced++,
  });
  return { clock, cookie, session, refusals, announced: () => announced };
}

/** The person who signs in after ann, and what becomes of the requests of ann. */
const comers = [
  ["ann", "sent"],
  ["bob", "ann asked, and bob signed in: it was not sent"],
] as const;

test("a request that waits is sent when the same person is signed in again, and not for another one", async () => {
  for (const [name, sent] of comers) {
    const { session } = browser();
    await session.find();
    const waiting = session.signedInAgain(session.view.value).then(
      () => "sent",
      (thrown) => (thrown instanceof ApiError ? thrown.message : "wrong"),
    );
    expect(session.state.value).toBe("ended");
    await session.signIn({ token: name });
    expect([await waiting, session.view.value?.name]).toEqual([sent, name]);
  }
});

test("a refusal that comes after a sign-in belongs to the previous session, and ends nothing", async () => {
  for (const [name, sent] of comers) {
    const { session } = browser();
    await session.find();
    const before = session.view.value;
    await session.signIn({ token: name });
    const late = session.signedInAgain(before).then(
      () => "sent",
      (thrown) => (thrown instanceof ApiError ? thrown.message : "wrong"),
    );
    expect([await late, session.state.value]).toEqual([sent, "in"]);
  }
});

test("a page that was left sends nothing later", async () => {
  const { session } = browser();
  await session.find();
  const waiting = session.signedInAgain(session.view.value);
  session.refuse("");
  await session.signIn({ token: "ann" });
  await expect(waiting).rejects.toThrow("the page was left: it was not sent");
});

test("other tabs are notified of a sign-in and a sign-out, and not of reads", async () => {
  const { session, announced } = browser();
  await session.find();
  expect(announced()).toBe(0);
  await session.signIn({ token: "ann" });
  await session.signOut();
  expect([announced(), session.state.value]).toEqual([2, "out"]);
});

test("a tab takes the session that another tab has, and ends with it", async () => {
  const { cookie, session } = browser();
  await session.find();
  cookie.of = "bob";
  await session.find();
  expect(session.view.value).toMatchObject({ name: "bob", csrf: "of-bob" });
  cookie.of = undefined;
  await session.find();
  expect(session.state.value).toBe("ended");
});

test("a master that has enough is asked for the session again later, and a person who signs in gets the refusal at once", async () => {
  const { clock, session, refusals } = browser();
  const tooMany = () => Response.json({ error: "rate limit exceeded" }, { status: 429 });
  refusals.push(tooMany());
  await clock.until(session.find(), 1_000);
  expect(session.state.value).toBe("in");
  refusals.push(tooMany());
  await expect(session.signIn({ token: "ann" })).rejects.toThrow(/^Too many requests .* Try again at /);
});
