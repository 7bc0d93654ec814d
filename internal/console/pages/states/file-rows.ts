import { atColumn } from "../../../base/place.ts";

interface Finding {
  file: string;
  line: number;
  column: number;
  reason: string;
}

/** Files that are refused, or that have hints. */
interface Found {
  environment?: string;
  remote?: string;
  ref?: string;
  reason?: string;
  problems?: readonly Finding[];
  hints?: readonly Finding[];
}

/** One thing to look at. */
export interface FileRow {
  /** The environment, or the repository. */
  of: string;
  /** `web/init.sls:3:2`, or the ref. */
  at: string;
  reason: string;
}

/** A row for each problem or hint; one for all where there are none. */
export function rowsOf(all: readonly Found[], name: "problems" | "hints"): FileRow[] {
  return all.flatMap((one) => {
    const of = one.environment ?? one.remote ?? "none";
    const { [name]: found = [] } = one;
    if (found.length === 0) return [{ of, at: one.ref ?? "", reason: one.reason ?? "" }];
    return found.map((each) => ({ of, at: atColumn(each.file, each), reason: each.reason }));
  });
}
