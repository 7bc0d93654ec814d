import { earlierFilters, earlierTests } from "./filters-earlier.ts";
import { listFilters } from "./filters-list.ts";
import { textFilters } from "./filters-text.ts";
import { listMethodNames, mapMethodNames } from "./methods.ts";
import { tests } from "./tests.ts";
import { textMethods } from "./text-methods.ts";

const sorted = (names: Iterable<string>): readonly string[] => [...names].sort();

/** What the language has, by kind, for the reference. */
export const builtinNames = {
  filters: sorted(Object.keys({ ...earlierFilters, ...textFilters, ...listFilters })),
  tests: sorted(Object.keys({ ...earlierTests, ...tests })),
  methods: {
    text: sorted(Object.keys(textMethods)),
    list: sorted(listMethodNames),
    map: sorted(mapMethodNames),
  },
} as const;
