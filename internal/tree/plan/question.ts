import type { ReadKind } from "../jinja/mod.ts";
import type { ExpandedExpression } from "../targets/mod.ts";
import type { WatchedTable } from "../template/mod.ts";

/** What a template, or the top file, wanted to know of a peel. */
export type Question = { readonly key: string } & (
  | {
      readonly kind: "read";
      readonly table: WatchedTable;
      /** The names that lead to it. */
      readonly path: readonly string[];
      readonly how: ReadKind;
    }
  | {
      readonly kind: "target";
      readonly expression: ExpandedExpression;
      /** A template wants to know it: these have some facts more. */
      readonly isOfTemplate?: true;
      /** Of another peel, encoded. */
      readonly peelId?: string;
    }
);

export const readingOf = (table: WatchedTable, path: readonly string[], how: ReadKind): Question => ({
  ...{ key: [how, table, ...path].join("\0"), kind: "read" },
  ...{ table, path, how },
});

export const targetOf = (
  expression: ExpandedExpression,
  of: { isOfTemplate?: true; peelId?: string } = {},
): Question => ({
  ...{ key: `target\0${JSON.stringify([of, expression])}`, kind: "target", expression },
  ...of,
});
