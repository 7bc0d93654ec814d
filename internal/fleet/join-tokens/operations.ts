import * as v from "valibot";
import { encodeBase64 } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { readMasterUrl } from "../../base/names/master-url.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import { formatJoinToken } from "../../identity/join-token/mod.ts";
import { seal } from "../../identity/mod.ts";
import { curvePublicKeyField } from "../../wire/public-keys.ts";
import { labelsField } from "../enrollment/record/mod.ts";
import { isOverHttps, operation, operatorOf } from "../operation/mod.ts";
import { createToken, type JoinTokenDeps, maxUses } from "./create.ts";
import { judgeBus } from "./judge-bus.ts";
import { type JoinTokenRecord, joinTokenRecord } from "./record.ts";
import { findToken, revokeToken } from "./revoke.ts";
import { sealContext } from "./seal-context.ts";
import { joinTokenStates, stateOf } from "./state.ts";

/** A list of the hosts that joined fits into one message. */
const maxShown = 2_000;

const { id, peel, uses, labels, hold, note, created_by, ...times } = joinTokenRecord.shownEntries;
const state = described(
  v.picklist(joinTokenStates),
  "`open`: it lets hosts in; `used up`, `ended` or `revoked`: it does not",
);
const summaryFields = {
  ...{ id, state, peel, uses, uses_left: v.number() },
  ...{ labels, hold, note, created_by },
  ...times,
};
const summary = titled("JoinToken", v.object(summaryFields));
type JoinTokenSummary = v.InferOutput<typeof summary>;

const usesRule = `must be 1 to ${maxUses}`;
/** Where hosts reach a master. */
export const joinTokenUrl = v.pipe(
  v.string(),
  v.maxLength(512, "must have at most 512 characters"),
  v.check((text) => "origin" in readMasterUrl(text), "must be https://host:port, such as https://svc:8443"),
);

export const createJoinToken = operation({
  name: "join-tokens.create",
  kind: "change",
  summary: "Create a token that hosts join with",
  description:
    "The token is in this answer only: masters keep its SHA-256. It has the addresses of the masters and the pins of the fleet's root, so that a host that joins with it needs nothing else.",
  input: v.strictObject({
    peel: v.optional(
      described(
        v.pipe(
          v.string(),
          v.regex(/^[A-Za-z0-9.*?[\]!-]{1,255}$/, "must be a glob on peel ids with dots, such as web-*"),
        ),
        "A glob: only hosts whose peel ID matches, with dots",
      ),
      "*",
    ),
    uses: v.optional(
      described(
        v.pipe(integer, v.minValue(1, usesRule), v.maxValue(maxUses, usesRule)),
        "How many hosts it admits",
      ),
      1,
    ),
    ttl: v.optional(described(v.string(), "How long it lasts: 1m to 30d"), "24h"),
    label: v.optional(described(labelsField, "Labels that its hosts get, by name"), {}),
    url: v.optional(
      described(
        v.pipe(v.array(joinTokenUrl), v.maxLength(16, "must have at most 16 URLs")),
        "Base URLs of masters; none means `enroll.advertise_urls`",
      ),
      [],
    ),
    hold: v.optional(described(v.boolean(), "Hosts get the labels and wait for an operator"), false),
    note: v.optional(
      described(
        v.pipe(v.string(), v.maxLength(200, "must have at most 200 characters")),
        "Note for people about its purpose",
      ),
    ),
    seal_to: v.optional(
      described(
        curvePublicKeyField,
        "X25519 public key of the client: the answer has the token sealed to it, in `sealed`; required over the bus",
      ),
    ),
  }),
  output: titled(
    "CreatedJoinToken",
    v.object({
      ...summaryFields,
      token: v.exactOptional(described(v.string(), "The token, which is shown once")),
      sealed: v.exactOptional(described(v.string(), "The token, sealed to `seal_to`, in base64")),
      bus_url: v.exactOptional(
        described(v.string(), "The bus that its hosts use; present where masters advertise none to peels"),
      ),
      warning: v.exactOptional(described(v.string(), "Which hosts cannot use it, and what to do about it")),
    }),
  ),
  touches: ({ peel }) => ({ peels: { expression: peel } }),
  async run(deps: JoinTokenDeps, input, call) {
    const { label: labels, url, seal_to: sealTo, peel, uses, ttl, hold, note } = input;
    // A token in a reply could be read by someone who controls a server of the bus.
    if (sealTo === undefined && call.caller.kind === "operator" && !isOverHttps(call.caller)) {
      throw new SvcError("bad_request", "seal_to is required: the token does not cross the bus in the clear");
    }
    if (call.agreement !== undefined) {
      throw new SvcError("forbidden", "a join token cannot wait for others: nobody would get it");
    }
    const urls = url.length > 0 ? url : deps.urls();
    const requested = { peel, uses, ttl, labels, hold, ...defined({ note }) };
    const { token, secret } = await createToken(deps, requested, call);
    call.log.info("join token created", {
      ...{ token: token.id, peel: token.peel, uses: token.uses, operator: operatorOf(call) },
    });
    const { busUrl } = deps;
    const text = formatJoinToken({ urls, pins: deps.pins(), id: token.id, secret, ...defined({ busUrl }) });
    const shown = {
      ...summarize(deps, token),
      ...defined({ bus_url: busUrl, warning: judgeBus(busUrl) }),
    };
    if (sealTo === undefined) return { ...shown, token: text };
    const sealed = seal(Buffer.from(text, "latin1"), sealTo, sealContext(token.id), deps.random);
    return { ...shown, sealed: encodeBase64(sealed) };
  },
});

export const listJoinTokens = operation({
  name: "join-tokens.list",
  kind: "read",
  summary: "List the tokens that hosts join with, newest first",
  output: v.object({ tokens: v.array(summary) }),
  async run(deps: Pick<JoinTokenDeps, "view" | "clock">) {
    await deps.view.caughtUp();
    return { tokens: deps.view.all().map((token) => summarize(deps, token)) };
  },
});

export const showJoinToken = operation({
  name: "join-tokens.show",
  kind: "read",
  summary: "Show a token that hosts join with, and which hosts used it",
  input: v.strictObject({ id: described(v.string(), "Its id: `jtk-` and a KSUID") }),
  output: titled(
    "JoinTokenUses",
    v.object({
      ...summaryFields,
      used_by: described(
        v.array(
          v.object({
            peel_id: described(v.string(), "Encoded peel id"),
            enrollment: described(v.string(), "Id of the enrollment"),
            at: timestamp,
          }),
        ),
        `The hosts that took a use, newest first, at most ${maxShown}`,
      ),
    }),
  ),
  touches: ({ id }) => ({ joinToken: id }),
  async run(deps: JoinTokenDeps, { id }) {
    const token = await findToken(deps, id);
    const taken = [...deps.view.usesOf(id).values()].filter(({ free }) => !free);
    const used_by = taken
      .sort((one, other) => other.at - one.at)
      .slice(0, maxShown)
      .map(({ peelId, enrollment, at }) => ({ peel_id: peelId, enrollment, at: rfc3339(at) }));
    return { ...summarize(deps, token), used_by };
  },
});

export const revokeJoinToken = operation({
  name: "join-tokens.revoke",
  kind: "change",
  summary: "Revoke a token that hosts join with",
  description: "Every master refuses it as soon as this is answered. Hosts that joined with it stay.",
  input: v.strictObject({ id: described(v.string(), "Its id: `jtk-` and a KSUID") }),
  output: v.object({ token: summary }),
  touches: ({ id }) => ({ joinToken: id }),
  async run(deps: JoinTokenDeps, { id }, call) {
    const token = await revokeToken(deps, id, operatorOf(call));
    call.log.info("join token revoked", { token: id, operator: operatorOf(call) });
    return { token: summarize(deps, token) };
  },
});

function summarize(
  { view, clock }: Pick<JoinTokenDeps, "view" | "clock">,
  token: JoinTokenRecord,
): JoinTokenSummary {
  const used = view.used(token.id);
  const { id, peel, uses, ...shown } = joinTokenRecord.show(token);
  const uses_left = Math.max(0, uses - used);
  return { id, state: stateOf(token, used, clock.now()), peel, uses, uses_left, ...shown };
}
