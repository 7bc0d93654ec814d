import { SvcError, toSvcError } from "../../base/errors.ts";
import { parseStrictJson } from "../../base/yaml/strict-json.ts";
import type { RawBody } from "../../fleet/operation/door-table/mod.ts";
import type { Incoming } from "./serve.ts";

/** Largest request body of most routes, bytes (specification, section "Limits"). */
export const maxBodyBytes = 4096;

/**
 * Reads a body of one of these media types, if there is one.
 *
 * @throws SvcError `unsupported_media_type`, `too_large` or `bad_request`
 */
export async function readRaw(
  { headers, body }: Pick<Incoming, "headers" | "body">,
  { types, maxBytes, readMs }: RawBody,
): Promise<Uint8Array | undefined> {
  const isOne = types.includes(mediaTypeOf(headers) ?? "");
  const refused = () =>
    new SvcError("unsupported_media_type", `the Content-Type must be ${types.join(" or ")}`);
  const bytes = await (isOne ? body(maxBytes, readMs) : body(0)).catch((thrown) => {
    throw !isOne && toSvcError(thrown).kind === "too_large" ? refused() : thrown;
  });
  if (bytes.length === 0) return undefined;
  if (isOne) return bytes;
  throw refused();
}

const mediaTypeOf = (headers: Pick<Headers, "get">): string | undefined =>
  headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();

/**
 * Reads a JSON body; stops reading as soon as it is longer than allowed.
 *
 * @param maxBytes the largest body
 * @returns `undefined` for an empty body when `required` is false
 * @throws SvcError `unsupported_media_type`, `too_large` or `bad_request`
 */
export async function readJson(
  incoming: Pick<Incoming, "headers" | "body">,
  required: boolean,
  maxBytes = maxBodyBytes,
): Promise<unknown> {
  const bytes = await incoming.body(maxBytes);
  if (bytes.length === 0 && !required) return undefined;
  const type = mediaTypeOf(incoming.headers);
  if (type !== "application/json") {
    throw new SvcError("unsupported_media_type", "the Content-Type must be application/json");
  }
  try {
    return parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (thrown) {
    const reason = thrown instanceof SvcError ? thrown.message : "not valid JSON";
    throw new SvcError("bad_request", `the body is ${reason}`);
  }
}
