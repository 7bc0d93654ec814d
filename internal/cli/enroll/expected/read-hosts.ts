import { CsvError, parse } from "csv-parse/sync";
import * as v from "valibot";
import { SvcError } from "../../../base/errors.ts";
import { encodePeelId, isPeelId } from "../../../base/names/peel-id.ts";
import { atLine } from "../../../base/place.ts";
import { type Labels, labelsField } from "../../../fleet/enrollment/record/mod.ts";
import { publicKeyField } from "../../../wire/public-keys.ts";

/** A host of the file, as a request names it. */
export interface HostOfFile {
  /** Encoded. */
  peel_id: string;
  public_key: string;
  labels?: Labels;
}

interface Row {
  line: number;
  fields: readonly string[];
}

const columns = ["peel_id", "public_key", "labels"] as const;
const maxProblems = 20;

/**
 * Reads a list of hosts: lines with a peel id, a public key and labels, separated by blanks, or CSV with these three
 * fields, with a header or without. Empty lines and those that begin with `#` are ignored.
 *
 * @param file its name, for messages
 * @returns the hosts, or a line `<file>:<line>: <field>: <reason>` for each of the first 20 problems; never both
 */
export function readHosts(text: string, file: string): { hosts: HostOfFile[]; problems: string[] } {
  const problems: string[] = [];
  const hosts: HostOfFile[] = [];
  const lines = new Map<string, number>();
  for (const { line, fields } of rowsOf(text, file)) {
    const complain = (field: string, reason: string) =>
      void problems.push(`${atLine(file, line)}: ${field}: ${reason}`);
    const host = readHost(fields, complain);
    if (host === undefined) continue;
    const first = lines.get(host.peel_id);
    if (first !== undefined) complain("peel_id", `is on line ${first} already`);
    lines.set(host.peel_id, line);
    hosts.push(host);
  }
  if (problems.length > 0) return { hosts: [], problems: problems.slice(0, maxProblems) };
  if (hosts.length === 0) return { hosts, problems: [`${file}: names no host`] };
  return { hosts, problems };
}

/** @throws SvcError `bad_request` for CSV that is not well formed */
function rowsOf(text: string, file: string): Row[] {
  const plain = text.replace(/^\uFEFF/, "");
  const lines = plain.split(/\r?\n/).map((content, at) => ({ line: at + 1, content: content.trim() }));
  const filled = lines.filter(({ content }) => content !== "" && !content.startsWith("#"));
  // What is behind the peel id decides: the value of a label may have a comma.
  const isCsv = /^(?:"?[^\s",]*"?|peel id)\s*,/i.test(filled[0]?.content ?? "");
  if (!isCsv) {
    return filled.map(({ line, content }) => {
      const [id = "", key = "", ...labels] = content.split(/\s+/);
      return { line, fields: [id, key, labels.join(" ")] };
    });
  }
  const rows = csvRows(plain, file);
  const isHeader = rows[0]?.fields.every(
    (name, at) => name.toLowerCase().replace(/[ -]/g, "_") === columns[at],
  );
  return isHeader === true ? rows.slice(1) : rows;
}

const parsed = v.array(v.object({ record: v.array(v.string()), info: v.object({ lines: v.number() }) }));

function csvRows(text: string, file: string): Row[] {
  try {
    const options = { comment: "#", comment_no_infix: true, info: true, relax_column_count: true } as const;
    const rows: unknown = parse(text, { ...options, skip_empty_lines: true, trim: true });
    return v.parse(parsed, rows).map(({ record, info }) => ({ line: info.lines, fields: record }));
  } catch (thrown) {
    // The message of the parser repeats the field, which may be a seed.
    const lines = thrown instanceof CsvError ? thrown.lines : undefined;
    const line = typeof lines === "number" ? lines : undefined;
    throw new SvcError(
      "bad_request",
      `${atLine(file, line)}: not valid CSV: a quote must enclose a whole field, and be closed`,
    );
  }
}

/** @returns `undefined` after a complaint */
function readHost(
  fields: readonly string[],
  complain: (field: string, reason: string) => void,
): HostOfFile | undefined {
  const [id = "", key = "", words = ""] = fields;
  if (fields.length > columns.length) {
    complain(
      "labels",
      `expected ${columns.length} fields, found ${fields.length}: labels are in one field, separated by blanks`,
    );
    return undefined;
  }
  const peelId = encodePeelId(id);
  const isGood = isPeelId(peelId);
  if (!isGood) {
    complain(
      "peel_id",
      id === ""
        ? "is missing"
        : "must be 2 to 255 letters, digits, dots and hyphens, with a letter or digit first and last",
    );
  }
  const keyProblem = problemOfKey(key);
  if (keyProblem !== undefined) complain("public_key", keyProblem);
  const labels = readLabels(words, (reason) => complain("labels", reason));
  if (!isGood || keyProblem !== undefined || labels === undefined) return undefined;
  const isLabelled = Object.keys(labels).length > 0;
  return { peel_id: peelId, public_key: key, ...(isLabelled ? { labels } : {}) };
}

/** The text is never repeated: it may be a seed. */
function problemOfKey(key: string): string | undefined {
  if (key === "") return "is missing";
  if (/^S[A-Z0-9]{57}$/.test(key))
    return "is a seed, which is secret: give the public key, which begins with U";
  const read = v.safeParse(publicKeyField, key);
  return read.success ? undefined : read.issues[0].message;
}

function readLabels(words: string, complain: (reason: string) => void): Labels | undefined {
  const labels: Record<string, string> = {};
  for (const word of words.split(/\s+/).filter((one) => one !== "")) {
    const at = word.indexOf("=");
    const name = word.slice(0, at);
    const isTwice = Object.hasOwn(labels, name);
    if (at < 1 || isTwice) {
      complain(isTwice ? "a name appears twice" : "must be name=value, separated by blanks");
      return undefined;
    }
    labels[name] = word.slice(at + 1);
  }
  const read = v.safeParse(labelsField, labels);
  if (read.success) return read.output;
  complain(read.issues[0].message);
  return undefined;
}
