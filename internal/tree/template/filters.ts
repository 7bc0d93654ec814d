import type { Filter, Test } from "../jinja/mod.ts";
import { dataFilters } from "./data-filters.ts";
import { entryFilters } from "./entry-filters.ts";
import { saltListFilters, saltListTests } from "./list-filters.ts";
import { networkFilters, networkTests } from "./network-filters.ts";
import { regexFilters, regexTests } from "./regex-filters.ts";
import { saltTextFilters } from "./text-filters.ts";
import { valueFilters } from "./value-filters.ts";

/** Filters in addition to those of Jinja, with Salt's names. */
export const filters: Readonly<Record<string, Filter>> = {
  ...dataFilters,
  ...saltListFilters,
  ...saltTextFilters,
  ...regexFilters,
  ...networkFilters,
  ...entryFilters,
  ...valueFilters,
};

/** Tests in addition to those of Jinja, with Salt's names. */
export const tests: Readonly<Record<string, Test>> = { ...saltListTests, ...regexTests, ...networkTests };
