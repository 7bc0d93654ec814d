import { expect, test } from "bun:test";
import { unsoundKey } from "../../../test/harness/unsound-key.ts";
import { applyChange } from "./apply.ts";

test("an operator whose key is not a point of its curve is refused before anything is written", async () => {
  const deps = { clock: { monotonic: () => 0 } };
  await expect(applyChange(deps as never, "add", { publicKey: unsoundKey } as never)).rejects.toThrow(
    "the key in the record is not a usable key",
  );
});
