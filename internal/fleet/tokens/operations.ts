import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { described, titled } from "../../base/schema.ts";
import { isOverHttps, operation, operatorOf } from "../operation/mod.ts";
import { creatorOf, digestOf, newTokenText, storeToken, type TokenDeps } from "./create.ts";
import { type Token, tokenRecord } from "./record.ts";
import { endToken } from "./revoke.ts";
import { standingOf, tokenStates } from "./state.ts";

const role = v.pipe(v.string(), v.minLength(1), v.maxLength(63));

const { id, name, roles, ...shown } = tokenRecord.shownEntries;
const state = described(
  v.picklist(tokenStates),
  "`live`, `expired`, `revoked`, or `orphaned`: its creator has ended, or lost its roles",
);
const summaryFields = { id, name, roles, state, ...shown };
const summary = titled("Token", v.object(summaryFields));
type TokenSummary = v.InferOutput<typeof summary>;

export const createToken = operation({
  name: "tokens.create",
  kind: "change",
  summary: "Create a token of the REST API",
  description:
    "The token is in this answer only: masters keep its SHA-256. It never has more than its creator has now, and ends with its creator.",
  input: v.strictObject({
    name: described(
      v.pipe(v.string(), v.maxLength(63)),
      "Its name, which requests with it are recorded under",
    ),
    roles: described(
      v.pipe(
        v.array(role),
        v.minLength(1, "must have 1 to 16 roles"),
        v.maxLength(16, "must have 1 to 16 roles"),
      ),
      "Its roles, which allow no more than those of its creator",
    ),
    expires: v.optional(described(v.string(), "How long it lasts: 1m to 366d"), "90d"),
    digest: v.optional(
      described(
        v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hexadecimal")),
        "SHA-256 of a token that the client made: `svct_` and 43 characters of base64url; the answer has no token then",
      ),
    ),
  }),
  output: titled(
    "CreatedToken",
    v.object({
      ...summaryFields,
      token: v.exactOptional(described(v.string(), "The token, which is shown once")),
    }),
  ),
  touches: ({ name }) => ({ token: name }),
  async run(deps: TokenDeps, input, call) {
    const { digest, expires: lifetime, ...requested } = input;
    creatorOf(call.caller);
    // A token in a reply could be read by someone who controls a server of the bus.
    if (digest === undefined && !isOverHttps(call.caller)) {
      throw new SvcError(
        "bad_request",
        "digest is required: the client makes the token, and sends its SHA-256",
      );
    }
    const text = digest === undefined ? newTokenText(deps.random) : undefined;
    const created = await storeToken(
      deps,
      { ...requested, lifetime, digest: digest ?? digestOf(text ?? "") },
      call.caller,
    );
    call.log.info("token created", {
      ...{
        token: created.id,
        name: created.name,
        roles: created.roles.join(","),
        operator: operatorOf(call),
      },
    });
    return { ...summarize(deps, created), ...defined({ token: text }) };
  },
});

export const listTokens = operation({
  name: "tokens.list",
  kind: "read",
  summary: "List the tokens of the REST API, by name",
  output: v.object({ tokens: v.array(summary) }),
  async run(deps: TokenDeps) {
    await deps.view.caughtUp();
    return { tokens: deps.view.all().map((token) => summarize(deps, token)) };
  },
});

export const revokeToken = operation({
  name: "tokens.revoke",
  kind: "change",
  summary: "Revoke a token of the REST API",
  description: "Every master refuses it as soon as this is answered.",
  input: v.strictObject({ id: described(v.string(), "Its id, or its name") }),
  output: v.object({ token: summary }),
  touches: ({ id }) => ({ token: id }),
  async run(deps: TokenDeps, input, call) {
    const revoked = await endToken(deps, input.id, operatorOf(call));
    call.log.info("token revoked", { token: revoked.id, name: revoked.name, operator: operatorOf(call) });
    return { token: summarize(deps, revoked) };
  },
});

function summarize(deps: TokenDeps, token: Token): TokenSummary {
  const { id, name, roles, ...shown } = tokenRecord.show(token);
  return { id, name, roles, state: standingOf(token, deps, deps.clock.now()).state, ...shown };
}
