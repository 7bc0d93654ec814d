import { isIP } from "node:net";
import { Complaint, type OptionType, option } from "./option.ts";
import { path, text } from "./scalar.ts";

const group = "Traces";

/** The URL of a receiver of traces, or empty. */
const endpoint = text({
  name: "http(s):// URL",
  placeholder: "<url>",
  read: (value) => {
    if (value === "") return "";
    const url = /^https?:\/\/[^\s\\]+$/i.test(value) ? URL.parse(value) : null;
    if (url === null) throw new Complaint("expected a URL, such as https://collector.example.com:4318");
    if (url.username !== "" || url.password !== "") {
      throw new Complaint("a URL may not hold a user name or password: put a header into otlp.headers_file");
    }
    if (url.search !== "" || url.hash !== "") throw new Complaint("a URL may not hold a query or a fragment");
    if (url.protocol === "http:" && !isLoopback(url.hostname)) {
      throw new Complaint(
        "only https:// leaves this host; http:// is for a receiver on 127.0.0.1, [::1] or localhost",
      );
    }
    return value;
  },
});

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
}

const fractionText = "expected a number from 0 to 1";
/** A number from 0 to 1. */
const fraction: OptionType<number> = {
  name: "0 to 1",
  placeholder: "<n>",
  fromYaml: (node) => {
    if (node.kind === "scalar" && typeof node.value === "number") return inside(node.value);
    throw new Complaint(fractionText, node.at);
  },
  fromFlag: (texts) => {
    const value = texts.at(-1) ?? "";
    if (!/^\d{1,3}(?:\.\d{1,9})?$/.test(value)) throw new Complaint(fractionText);
    return inside(Number(value));
  },
  format: String,
};

function inside(value: number): number {
  if (value >= 0 && value <= 1) return value;
  throw new Complaint(fractionText);
}

/** Where a program sends its traces. @param flags `null` where the keys have none */
const otlpTable = (flags: { flag?: null }) => ({
  "otlp.endpoint": option({
    ...flags,
    group,
    type: endpoint,
    default: "",
    doc: "receiver of traces by OTLP over HTTP, without /v1/traces; empty means no traces",
  }),
  "otlp.headers_file": option({
    ...flags,
    group,
    type: path,
    default: "",
    doc: "file with headers for the receiver, one name: value on each line, with mode 0600",
  }),
  "otlp.ca": option({
    ...flags,
    group,
    type: path,
    default: "",
    doc: "CA file that verifies the receiver; empty means the host's trust store",
  }),
  "otlp.sample": option({
    ...flags,
    group,
    type: fraction,
    default: 1,
    doc: "fraction of the traces that begin here; a trace that others began is kept when they keep it",
  }),
});

/** The keys of a daemon. */
export const otlpOptions = otlpTable({});

/** The same for `svc`. */
export const operatorOtlpOptions = otlpTable({ flag: null });
