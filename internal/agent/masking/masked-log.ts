import { describeError } from "../../base/errors.ts";
import type { Log, LogFields } from "../../base/log.ts";
import type { Mask } from "./mask.ts";
import { withoutUrlSecrets } from "./message.ts";

/** A log in whose records secret values are masked, and whose URLs have no user, password or query. */
export function maskedLog(log: Log, maskNow: () => Mask): Log {
  const shown = (value: unknown, mask: Mask): unknown => {
    if (typeof value === "string") return withoutUrlSecrets(mask.text(value));
    if (value instanceof Error) return withoutUrlSecrets(mask.text(describeError(value)));
    if (Array.isArray(value)) return value.map((each) => shown(each, mask));
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shown(inner, mask)]));
  };
  const fieldsOf = (fields: LogFields | undefined) =>
    fields === undefined ? undefined : (shown(fields, maskNow()) as LogFields);
  const eventOf = (event: string) => withoutUrlSecrets(maskNow().text(event));
  return {
    debug: (event, fields) => log.debug(eventOf(event), fieldsOf(fields)),
    info: (event, fields) => log.info(eventOf(event), fieldsOf(fields)),
    warn: (event, fields) => log.warn(eventOf(event), fieldsOf(fields)),
    error: (event, fields) => log.error(eventOf(event), fieldsOf(fields)),
    with: (fields) => maskedLog(log.with(fieldsOf(fields) ?? {}), maskNow),
  };
}
