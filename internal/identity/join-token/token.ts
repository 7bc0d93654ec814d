import * as v from "valibot";
import { decodeBase64Url, encodeBase64Url } from "../../base/base64.ts";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { busUrlProblem } from "../../base/names/bus-url.ts";
import { readMasterUrl } from "../../base/names/master-url.ts";

/** What a host joins a fleet with: where its masters are, how to know them, and a secret that lets it in. */
export interface JoinToken {
  /** Base URLs of masters, at least one. */
  urls: readonly string[];
  /** SPKI pins of the root of the fleet; none where the host's trust store verifies the masters. */
  pins: readonly string[];
  /** `jtk-…` */
  id: string;
  /** 32 bytes. */
  secret: Uint8Array;
  /** Where the bus is, in a fleet whose masters advertise no address of it to peels. */
  busUrl?: string;
}

const secretBytes = 32;
const prefix = "svcjoin1.";
const maxText = 8_192;
const maxUrls = 16;
const maxPins = 8;

const schema = v.object({
  urls: v.pipe(
    v.array(v.pipe(v.string(), v.maxLength(512))),
    v.minLength(1),
    v.maxLength(maxUrls),
    v.check((urls) => urls.every((url) => "origin" in readMasterUrl(url))),
  ),
  pins: v.pipe(v.array(v.pipe(v.string(), v.regex(/^sha256:[0-9a-f]{64}$/))), v.maxLength(maxPins)),
  id: v.pipe(
    v.string(),
    v.check((text) => isId("jtk", text)),
  ),
  secret: v.pipe(v.instance(Uint8Array), v.length(secretBytes)),
  bus_url: v.exactOptional(
    v.pipe(
      v.string(),
      v.maxLength(512),
      v.check((url) => busUrlProblem(url) === undefined),
    ),
  ),
});

/** The token as one word: `svcjoin1.` and base64url of MessagePack. Secret. */
export function formatJoinToken({ urls, pins, id, secret, busUrl }: JoinToken): string {
  const fields = { urls: [...urls], pins: [...pins], id, secret, ...defined({ bus_url: busUrl }) };
  return `${prefix}${encodeBase64Url(encode(fields))}`;
}

/**
 * Reads a token. White space around it does not count.
 *
 * @param source where it is from, for messages, which never repeat it
 * @throws SvcError `bad_request`
 */
export function parseJoinToken(source: string, text: string): JoinToken {
  const word = text.trim();
  const fail = (what: string, next: string): never => {
    throw new SvcError("bad_request", `${source}: ${what}; ${next}`);
  };
  const again = "copy the whole line that svc enroll token create printed";
  if (word === "") return fail("it is empty", again);
  if (!word.startsWith("svcjoin")) return fail("this is not a join token", again);
  if (!word.startsWith(prefix)) {
    return fail("the join token was made by a later version", "upgrade svc-peel on this host");
  }
  const bytes = word.length > maxText ? undefined : decodeBase64Url(word.slice(prefix.length));
  const parsed = bytes === undefined ? undefined : v.safeParse(schema, decodeOrNothing(bytes));
  if (parsed?.success !== true) return fail("the join token is damaged or cut off", again);
  const { secret, bus_url: busUrl, ...token } = parsed.output;
  return { ...token, secret: Uint8Array.from(secret), ...defined({ busUrl }) };
}

function decodeOrNothing(bytes: Uint8Array): unknown {
  return attempt(() => decode(bytes));
}
