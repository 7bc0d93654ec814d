import type { CallContext } from "../../host/modules/mod.ts";
import type { Call } from "../../wire/call.ts";
import type { JobReturn } from "../../wire/return.ts";
import { execute } from "../execution/mod.ts";
import { type Mask, maskData, maskProgress, maskReturn, warnOfReadable } from "../masking/mod.ts";

/**
 * Runs a function. What leaves this host of it has no secrets of the settings: its return, its progress, its output and
 * its events. Texts of its own arguments come back unchanged.
 *
 * @param maskNow for the secrets in force, which a call may change
 */
export async function executeMasked(
  call: Call,
  context: CallContext,
  maskNow: () => Mask,
): Promise<JobReturn> {
  const mask = () => maskNow().except(call.args);
  const { progress, output, sendEvent, facts } = context;
  const shown = output === undefined ? undefined : maskedOutput(mask(), output);
  const result = await execute(call, {
    ...context,
    ...(progress === undefined ? {} : { progress: (current) => progress(maskProgress(mask(), current)) }),
    ...(shown === undefined ? {} : { output: shown.add }),
    ...(sendEvent === undefined ? {} : { sendEvent: (tag, data) => sendEvent(tag, maskData(mask(), data)) }),
    facts: { ...facts, set: (name, value) => facts.set(name, value, { asSent: true }) },
  });
  shown?.end();
  return maskReturn(mask(), call, warnOfReadable(maskNow(), result));
}

function maskedOutput(mask: Mask, output: (chunk: Uint8Array) => void) {
  const stream = mask.stream();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const send = (text: string) => {
    if (text !== "") output(Buffer.from(text));
  };
  return {
    add: (chunk: Uint8Array) => send(stream.add(decoder.decode(chunk, { stream: true }))),
    end: () => send(stream.add(decoder.decode()) + stream.end()),
  };
}
