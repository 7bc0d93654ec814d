import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { parseStrictJson } from "../../base/yaml/strict-json.ts";
import { type Decide, decisions } from "../enrollment/joining/mod.ts";
import { type Labels, labelsField } from "../enrollment/record/mod.ts";

/** What a program or a webhook answered. */
export interface Answer {
  decide: Decide;
  labels?: Labels;
  reason?: string;
}

const answerSchema = v.strictObject({
  decide: v.picklist(decisions, `must be ${decisions.join(", ")}`),
  labels: v.optional(v.nullable(labelsField)),
  reason: v.optional(
    v.nullable(
      v.pipe(
        v.string(),
        v.maxLength(1_024, "must have at most 1024 characters"),
        v.check((text) => !/\p{Cc}|\p{Cs}/u.test(text), "must have no control characters"),
      ),
    ),
  ),
});

/**
 * Reads an answer.
 *
 * @throws SvcError `bad_request` that names the field and repeats nothing of the text
 */
export function readAnswer(text: string): Answer {
  let value: unknown;
  try {
    value = parseStrictJson(text);
  } catch (thrown) {
    throw new SvcError("bad_request", thrown instanceof SvcError ? thrown.message : "not valid JSON");
  }
  const read = v.safeParse(answerSchema, value);
  if (!read.success) {
    const [issue] = read.issues;
    const field = issue.path?.[0]?.key;
    const isKnown = typeof field === "string" && Object.hasOwn(answerSchema.entries, field);
    // The name of an unknown key is the text of others.
    if (!isKnown && issue.path !== undefined) throw new SvcError("bad_request", "it has an unknown key");
    throw new SvcError(
      "bad_request",
      isKnown
        ? `${field}: ${issue.received === "undefined" ? "is missing" : issue.message}`
        : "it is not an object",
    );
  }
  const { decide, labels, reason } = read.output;
  return { decide, ...defined({ labels: labels ?? undefined, reason: reason ?? undefined }) };
}
