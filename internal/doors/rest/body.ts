import { SvcError } from "../../base/errors.ts";
import { parseStrictJson } from "../../base/yaml/strict-json.ts";
import type { Incoming } from "./serve.ts";

/** Largest request body of most routes, bytes (specification, section "Limits"). */
export const maxBodyBytes = 4096;

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
  const type = incoming.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
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
