import { isIP } from "node:net";
import * as v from "valibot";
import { inGroup, type OptionType, option } from "./option.ts";
import { emptyOr, path, text } from "./scalar.ts";

/** The URL of a receiver of traces, or empty. */
const endpoint = text({ name: "http(s):// URL", placeholder: "<url>", schema: emptyOr(endpointProblem) });

function endpointProblem(written: string): string | undefined {
  const url = /^https?:\/\/[^\s\\]+$/i.test(written) ? URL.parse(written) : null;
  if (url === null) return "expected a URL, such as https://collector.example.com:4318";
  if (url.username !== "" || url.password !== "") {
    return "a URL may not hold a user name or password: put a header into otlp.headers_file";
  }
  if (url.search !== "" || url.hash !== "") return "a URL may not hold a query or a fragment";
  return url.protocol === "http:" && !isLoopback(url.hostname)
    ? "only https:// leaves this host; http:// is for a receiver on 127.0.0.1, [::1] or localhost"
    : undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
}

const fractionText = "expected a number from 0 to 1";
/** A number from 0 to 1. */
const fraction: OptionType<number> = {
  name: "0 to 1",
  placeholder: "<n>",
  schema: v.pipe(v.number(fractionText), v.minValue(0, fractionText), v.maxValue(1, fractionText)),
  fromFlag: (texts) => {
    const written = texts.at(-1) ?? "";
    return /^\d{1,3}(?:\.\d{1,9})?$/.test(written) ? Number(written) : written;
  },
  format: String,
};

/** Where a program sends its traces. @param flags `null` where the keys have none */
const otlpTable = (flags: { flag?: null }) =>
  inGroup(
    "Traces",
    {
      "otlp.endpoint": option(
        endpoint,
        "",
        "receiver of traces by OTLP over HTTP, without /v1/traces; empty means no traces",
      ),
      "otlp.headers_file": option(
        path,
        "",
        "file with headers for the receiver, one name: value on each line, with mode 0600",
      ),
      "otlp.ca": option(path, "", "CA file that verifies the receiver; empty means the host's trust store"),
      "otlp.sample": option(
        fraction,
        1,
        "fraction of the traces that begin here; a trace that others began is kept when they keep it",
      ),
    },
    flags,
  );

/** The keys of a daemon. */
export const otlpOptions = otlpTable({});

/** The same for `svc`. */
export const operatorOtlpOptions = otlpTable({ flag: null });
