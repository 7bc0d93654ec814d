import type { StateFiles } from "../../internal/agent/state-files/state-files.ts";
import { SvcError } from "../../internal/base/errors.ts";

/** State files of a peel that never gets any. */
export function noStateFiles(): StateFiles {
  return {
    async open() {
      throw new SvcError("unavailable", "this peel has no state files");
    },
    waitForFirstSync: async () => false,
    reported() {},
    attach: () => () => {},
    texts: () => [],
  };
}
